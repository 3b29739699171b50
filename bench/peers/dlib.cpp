/* dlib.cpp: dlib's reduced_decision_function_trainer2 on a machine of LIBSVM's with two classes,
 * and dlib's own evaluation of what it returns.
 *
 * dlib trains a machine and then replaces it by fewer vectors. Here the machine is given, so the
 * trainer that dlib is handed returns it whatever the rows. Rows are those that the machine takes:
 * scaled. eps is dlib's default, 1e-3. */
#include "peer.h"

#include <dlib/revision.h>
#include <dlib/svm.h>
#include <fstream>
#include <libsvm/svm.h>
#include <vector>

namespace {

using vector = dlib::matrix<double, 0, 1>;
using kernel = dlib::radial_basis_kernel<vector>;
using function = dlib::decision_function<kernel>;

struct given_machine {
    using kernel_type = kernel;
    using scalar_type = double;
    using sample_type = vector;
    using mem_manager_type = kernel::mem_manager_type;
    using trained_function_type = function;
    function machine;

    template <typename rows, typename labels> function train(const rows &, const labels &) const {
        return machine;
    }
};

struct reduced_machine {
    function machine;
    int32_t labels[2]; /* above 0: the first */
    std::vector<vector> rows;
};

/* Nodes in order of their index, from 1; those left out are 0. */
vector vector_of(const svm_node *node, long d) {
    vector x = dlib::zeros_matrix<double>(d, 1);
    for (; node->index >= 1; node++)
        if (node->index <= d)
            x(node->index - 1) = node->value;
    return x;
}

function function_of(const svm_model &m, long d) {
    dlib::matrix<double, 0, 1> alpha(m.l);
    dlib::matrix<vector, 0, 1> vectors(m.l);
    for (long i = 0; i < m.l; i++) {
        alpha(i) = m.sv_coef[0][i];
        vectors(i) = vector_of(m.SV[i], d);
    }
    return function(alpha, m.rho[0], kernel(m.param.gamma), vectors);
}

std::vector<vector> vectors_of(const table &rows) {
    std::vector<vector> found(static_cast<size_t>(rows.n));
    for (long i = 0; i < rows.n; i++) {
        found[i].set_size(rows.d);
        for (long j = 0; j < rows.d; j++)
            found[i](j) = rows.x[i * rows.d + j];
    }
    return found;
}

int32_t answer(void *state, size_t index, const float *) {
    const auto *r = static_cast<const reduced_machine *>(state);
    return r->labels[r->machine(r->rows[index]) <= 0];
}

} // namespace

const char *dlib_release(void) {
    static const std::string text =
        std::to_string(DLIB_MAJOR_VERSION) + "." + std::to_string(DLIB_MINOR_VERSION);
    return text.c_str();
}

size_t dlib_reduce(const char *machine_path, const table *rows, size_t vectors, const char *path) {
    svm_model *m = svm_load_model(machine_path);
    if (!m || m->nr_class != 2 || m->param.kernel_type != RBF)
        die("%s: not a LIBSVM model of two classes with an rbf kernel", machine_path);
    given_machine given{function_of(*m, rows->d)};
    dlib::reduced_decision_function_trainer2<given_machine> trainer(given,
                                                                    static_cast<long>(vectors));
    function found = trainer.train(vectors_of(*rows), std::vector<double>(rows->n));
    std::ofstream file(path, std::ios::binary);
    dlib::serialize(found, file);
    dlib::serialize(m->label[0], file);
    dlib::serialize(m->label[1], file);
    file.close();
    if (!file)
        die("%s cannot be written", path);
    return static_cast<size_t>(found.basis_vectors.size());
}

peer dlib_open(const char *path, const table *rows) {
    auto *r = new reduced_machine;
    std::ifstream file(path, std::ios::binary);
    peer p = {};
    try {
        dlib::deserialize(r->machine, file);
        dlib::deserialize(r->labels[0], file);
        dlib::deserialize(r->labels[1], file);
    } catch (const dlib::serialization_error &e) {
        die("%s: %s", path, e.what());
    }
    if (r->machine.basis_vectors(0).size() != rows->d)
        die("%s has %ld features, the rows %d", path, r->machine.basis_vectors(0).size(), rows->d);
    p.bytes = static_cast<size_t>(file.tellg());
    r->rows = vectors_of(*rows);
    p.state = r;
    p.answer = answer;
    return p;
}
