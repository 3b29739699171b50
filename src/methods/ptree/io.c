/* io.c: the sections, each "<method>.<part>".
 *
 * What belongs to nodes or leaves is written one after the other, in their order. A node's children
 * have larger numbers than the node, and every node but the first and every leaf is a child exactly
 * once, so that the links are a tree. The sums that queries use, the Cholesky factors and the
 * levels are made anew when a file is opened. */
#include "methods/ptree/ptree.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DRIFT_MOST 1e160

typedef struct node_record {
    int32_t child[2];
    double threshold;
    uint64_t rows;
} node_record;

typedef struct leaf_record {
    uint64_t vectors, seen, wait, kept;
    double steps;
} leaf_record;

typedef struct section_name {
    char text[LM_SECTION_NAME];
} section_name;

static section_name named(const pt_model *m, const char *part) {
    section_name name;
    (void)snprintf(name.text, sizeof name.text, "%s.%s", pt_names[m->o.rule], part);
    return name;
}

static bool is_linear(const pt_model *m) {
    return m->o.split == PT_WPQ || m->o.split == PT_RNDW || m->o.split == PT_PCA;
}

/* ---- the parts of nodes and leaves ---- */

/* All pieces of a section: bytes per node or leaf, and where they are. */
typedef enum part {
    PART_W,
    PART_ROWS,
    PART_SIDES,
    PART_VECTORS,
    PART_COEFS,
    PART_DRIFTS,
    PART_BIASES,
    PART_KEPT,
    PART_LABELS,
    PART_COUNTS,
    PARTS
} part;

static const char *const part_names[PARTS] = {"tests",  "test_rows", "test_sides", "vectors",
                                              "coefs",  "drifts",    "biases",     "remembered",
                                              "labels", "class_rows"};

static bool of_node(part which) {
    return which <= PART_SIDES;
}

/* Where the piece of node or leaf i is, and of how many items of which size it consists. */
static void **piece(pt_model *m, part which, size_t i, size_t *count, size_t *size) {
    pt_node *node = of_node(which) ? &m->node[i] : NULL;
    pt_leaf *leaf = of_node(which) ? NULL : &m->leaf[i];
    size_t cells = leaf ? leaf->e.pack.n * m->outputs : 0;
    bool near = m->o.split == PT_ZPQ;
    *size = sizeof(double);
    switch (which) {
    case PART_W:
        *count = is_linear(m) ? m->stride : 0;
        *size = sizeof(float);
        return (void **)(uintptr_t)&node->w;
    case PART_ROWS:
        *count = node->pack.panels * LM_PANEL * m->d;
        *size = sizeof(float);
        return (void **)(uintptr_t)&node->pack.data;
    case PART_SIDES:
        *count = near ? node->pack.n : 0;
        *size = 1;
        return (void **)(uintptr_t)&node->side;
    case PART_VECTORS:
        *count = leaf->e.pack.panels * LM_PANEL * m->d;
        *size = sizeof(float);
        return (void **)(uintptr_t)&leaf->e.pack.data;
    case PART_COEFS:
        *count = cells;
        return (void **)(uintptr_t)&leaf->e.coef;
    case PART_DRIFTS:
        *count = m->o.average ? cells : 0;
        return (void **)(uintptr_t)&leaf->e.drift;
    case PART_BIASES:
        *count = m->outputs;
        return (void **)(uintptr_t)&leaf->bias;
    case PART_KEPT:
        *count = leaf->kept * m->d;
        *size = sizeof(float);
        return (void **)(uintptr_t)&leaf->kept_x;
    case PART_LABELS:
        *count = leaf->kept;
        *size = sizeof(int32_t);
        return (void **)(uintptr_t)&leaf->kept_label;
    default:
        *count = m->classes;
        return (void **)(uintptr_t)&leaf->count;
    }
}

/* Items of the whole section. */
static bool count_items(pt_model *m, part which, size_t *total, size_t *size) {
    size_t pieces = of_node(which) ? m->nodes : m->leaves, count;
    *total = 0;
    *size = sizeof(double);
    for (size_t i = 0; i < pieces; i++) {
        (void)piece(m, which, i, &count, size);
        if (!lm_add(*total, count, total))
            return false;
    }
    return true;
}

/* ---- saving ---- */

static limn_status put_about(const pt_model *m, lm_writer *writer) {
    lm_kv_out *kv;
    limn_status status = lm_kv_begin(writer, named(m, "about").text, PT_FILE_VERSION, &kv);
    if (status != LIMN_OK)
        return status;
    lm_kv_put_int(kv, "kernel", (int64_t)m->o.kernel.type);
    lm_kv_put_int(kv, "degree", m->o.kernel.degree);
    lm_kv_put_real(kv, "gamma", m->o.kernel.gamma);
    lm_kv_put_real(kv, "coef0", m->o.kernel.coef0);
    lm_kv_put_int(kv, "seed", (int64_t)m->seed);
    lm_kv_put_int(kv, "leaves", (int64_t)m->leaves);
    lm_kv_put_int(kv, "steps", (int64_t)m->steps);
    lm_kv_put_int(kv, "seen", (int64_t)m->seen);
    lm_kv_put_real(kv, "wrong_last", m->wrong[0]);
    lm_kv_put_real(kv, "wrong_mean", m->wrong[1]);
    lm_kv_put_real(kv, "forgot", m->forgot);
    lm_kv_put_real(kv, "mistakes", m->mistakes);
    lm_kv_put_real(kv, "agreement", m->agreement);
    lm_kv_put_reals(kv, "slopes", m->slope, m->classes);
    lm_kv_put_reals(kv, "bends", m->bend, m->classes);
    return lm_kv_end(kv);
}

static limn_status put_records(limn_context *ctx, const pt_model *m, lm_writer *writer) {
    node_record *node = NULL;
    leaf_record *leaf = NULL;
    if (!lm_writer_measures(writer)) {
        node = lm_writer_memory(writer, m->nodes + 1, sizeof *node);
        leaf = lm_writer_memory(writer, m->leaves, sizeof *leaf);
        if (!node || !leaf)
            return lm_fail_memory(ctx);
    }
    for (size_t i = 0; node && i < m->nodes; i++) {
        const pt_node *n = &m->node[i];
        node[i] = (node_record){{n->child[0], n->child[1]}, n->threshold, n->pack.n};
    }
    for (size_t i = 0; leaf && i < m->leaves; i++) {
        const pt_leaf *l = &m->leaf[i];
        leaf[i] = (leaf_record){l->e.pack.n, l->seen, l->wait, l->kept, l->e.steps};
    }
    limn_status status = LIMN_OK;
    if (m->nodes)
        status = lm_writer_section(writer, named(m, "nodes").text, PT_FILE_VERSION, node,
                                   m->nodes * sizeof *node);
    if (status == LIMN_OK)
        status = lm_writer_section(writer, named(m, "leaves").text, PT_FILE_VERSION, leaf,
                                   m->leaves * sizeof *leaf);
    return status;
}

static limn_status put_part(limn_context *ctx, const pt_model *model, part which,
                            lm_writer *writer) {
    pt_model m = *model; /* of which nothing is written */
    size_t total, size, at = 0;
    unsigned char *data = NULL;
    if (!count_items(&m, which, &total, &size))
        return lm_fail_memory(ctx);
    if (!total)
        return LIMN_OK;
    if (!lm_writer_measures(writer)) {
        data = lm_writer_memory(writer, total, size);
        if (!data)
            return lm_fail_memory(ctx);
    }
    for (size_t i = 0; data && i < (of_node(which) ? m.nodes : m.leaves); i++) {
        size_t count;
        void *from = *piece(&m, which, i, &count, &size);
        if (count)
            memcpy(data + at, from, count * size);
        at += count * size;
    }
    return lm_writer_section(writer, named(&m, part_names[which]).text, PT_FILE_VERSION, data,
                             total * size);
}

limn_status pt_save(limn_context *ctx, const void *opaque, lm_writer *writer) {
    const pt_model *m = opaque;
    limn_status status = put_about(m, writer);
    if (status == LIMN_OK)
        status = put_records(ctx, m, writer);
    for (int which = 0; which < PARTS && status == LIMN_OK; which++)
        status = put_part(ctx, m, (part)which, writer);
    return status;
}

/* ---- loading: numbers ---- */

static limn_status get_kernel(lm_kv *kv, lm_kernel *k) {
    int64_t type = 0, degree = 0;
    double least = 0;
    limn_status status = lm_kv_int(kv, "kernel", 0, LM_INTERSECTION, &type);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "degree", 0, INT32_MAX, &degree);
    if (type != LM_RBF && type != LM_CHI2_KERNEL) /* a machine may have it */
        least = -1e300;
    if (status == LIMN_OK)
        status = lm_kv_real(kv, "gamma", least, 1e300, &k->gamma);
    if (status == LIMN_OK)
        status = lm_kv_real(kv, "coef0", -1e300, 1e300, &k->coef0);
    k->type = (lm_kernel_type)type;
    k->degree = (int)degree;
    return status;
}

static limn_status get_counts(lm_kv *kv, pt_model *m) {
    int64_t seed = 0, leaves = 0, steps = 0, seen = 0, most = m->o.rule == PT_TREE ? INT32_MAX : 1;
    limn_status status = lm_kv_int(kv, "seed", INT64_MIN, INT64_MAX, &seed);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "leaves", 1, most, &leaves);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "steps", 0, INT64_MAX / 2, &steps);
    if (status == LIMN_OK)
        status = lm_kv_int(kv, "seen", 0, INT64_MAX / 2, &seen);
    m->seed = (uint64_t)seed;
    m->leaves = (size_t)leaves;
    m->nodes = m->leaves - 1;
    m->steps = (uint64_t)steps;
    m->seen = (uint64_t)seen;
    return status;
}

static limn_status get_about(limn_context *ctx, const lm_file *file, pt_model *m) {
    lm_kv kv;
    limn_status status = lm_kv_open(ctx, file, named(m, "about").text, PT_FILE_VERSION, &kv);
    if (status == LIMN_OK)
        status = get_kernel(&kv, &m->o.kernel);
    if (status == LIMN_OK)
        status = get_counts(&kv, m);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "wrong_last", 0, 1, &m->wrong[0]);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "wrong_mean", 0, 1, &m->wrong[1]);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "forgot", -1e300, 1e300, &m->forgot);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "mistakes", 0, 1e300, &m->mistakes);
    if (status == LIMN_OK)
        status = lm_kv_real(&kv, "agreement", -1, 1, &m->agreement);
    if (status == LIMN_OK)
        status = lm_kv_reals(&kv, "slopes", m->classes, m->slope);
    if (status == LIMN_OK)
        status = lm_kv_reals(&kv, "bends", m->classes, m->bend);
    for (size_t c = 0; c < m->classes && status == LIMN_OK; c++)
        if (!(m->slope[c] >= 0 && m->slope[c] <= 1e100 && m->bend[c] >= 0 && m->bend[c] <= 1e100))
            status = lm_file_bad(ctx, file, "the slope of class %zu is invalid", c);
    return status;
}

/* ---- loading: the tree ---- */

static limn_status take_arrays(limn_context *ctx, pt_model *m) {
    m->room = m->leaves;
    m->node = lm_alloc_zero(&ctx->mem, m->room, sizeof *m->node);
    m->leaf = lm_alloc_zero(&ctx->mem, m->room, sizeof *m->leaf);
    if (!m->node || !m->leaf) {
        m->nodes = m->leaves = 0;
        return lm_fail_memory(ctx);
    }
    for (size_t i = 0; i < m->leaves; i++)
        m->leaf[i].parent = -2; /* not linked yet */
    return LIMN_OK;
}

/* Links a child of node i; level: per node, 0 while nothing links to it. */
static bool link_child(pt_model *m, size_t i, int32_t child, uint32_t *level) {
    if (child >= 0) {
        if ((size_t)child >= m->nodes || level[child])
            return false;
        level[child] = level[i] + 1;
        return true;
    }
    size_t leaf = (size_t)(-1 - (int64_t)child);
    if (leaf >= m->leaves || m->leaf[leaf].parent != -2)
        return false;
    m->leaf[leaf].parent = (int32_t)i;
    m->leaf[leaf].level = level[i];
    return level[i] <= PT_DEPTH_MOST;
}

/* Every node is linked to once, by one before it, and no leaf twice; then their numbers leave no
 * leaf without a link. */
static bool link_nodes(pt_model *m, const node_record *record, uint32_t *level) {
    bool near = m->o.split == PT_ZPQ, linear = is_linear(m);
    level[0] = 1;
    for (size_t i = 0; i < m->nodes; i++) {
        const node_record *r = &record[i];
        bool rows = near ? r->rows >= 1 && r->rows <= UINT32_MAX : r->rows == (linear ? 0 : 1);
        if (!level[i] || !rows || !isfinite(r->threshold) ||
            !link_child(m, i, r->child[0], level) || !link_child(m, i, r->child[1], level))
            return false;
        memcpy(m->node[i].child, r->child, sizeof r->child);
        m->node[i].threshold = r->threshold;
        lm_pack_view(NULL, (size_t)r->rows, m->d, &m->node[i].pack);
        pt_fit_width(m->node[i].pack.panels, &m->width);
    }
    return true;
}

static limn_status get_nodes(limn_context *ctx, const lm_file *file, pt_model *m) {
    const void *data = NULL;
    if (!m->nodes) {
        m->leaf[0].parent = -1;
        return LIMN_OK;
    }
    limn_status status = lm_file_array(ctx, file, named(m, "nodes").text, PT_FILE_VERSION, m->nodes,
                                       sizeof(node_record), &data);
    if (status != LIMN_OK)
        return status;
    uint32_t *level = lm_alloc_zero(&ctx->mem, m->nodes, sizeof *level);
    if (!level)
        return lm_fail_memory(ctx);
    if (!link_nodes(m, data, level))
        status = lm_file_bad(ctx, file, "the links or tests of its nodes are invalid");
    lm_free(&ctx->mem, level);
    return status;
}

static bool leaf_fine(const pt_model *m, const pt_leaf *leaf, const leaf_record *r) {
    bool keeps = pt_may_split(&m->o, leaf->level);
    return r->vectors <= LM_EXPANSION_MOST && r->vectors <= m->o.budget &&
           r->seen <= INT64_MAX / 2 && r->wait <= INT64_MAX &&
           r->kept <= (keeps ? m->o.reservoir : 0) && r->kept <= r->seen && r->steps >= 0 &&
           r->steps <= 0x1p53 && r->steps == floor(r->steps);
}

static limn_status get_leaves(limn_context *ctx, const lm_file *file, pt_model *m) {
    const void *data = NULL;
    limn_status status = lm_file_array(ctx, file, named(m, "leaves").text, PT_FILE_VERSION,
                                       m->leaves, sizeof(leaf_record), &data);
    for (size_t i = 0; i < m->leaves && status == LIMN_OK; i++) {
        const leaf_record *r = (const leaf_record *)data + i;
        pt_leaf *leaf = &m->leaf[i];
        if (!leaf_fine(m, leaf, r))
            return lm_file_bad(ctx, file, "leaf %zu is invalid", i);
        leaf->seen = r->seen;
        leaf->wait = r->wait;
        leaf->kept = (size_t)r->kept;
        leaf->e.kernel = m->o.kernel;
        leaf->e.outputs = m->outputs;
        leaf->e.averaged = m->o.average;
        leaf->e.factored = m->o.project > 0;
        leaf->e.steps = r->steps;
        lm_pack_view(NULL, (size_t)r->vectors, m->d, &leaf->e.pack);
        pt_fit_width(leaf->e.pack.panels, &m->width);
    }
    return status;
}

/* ---- loading: the parts ---- */

/* Small pieces are copied, so that learning can change them. */
static limn_status own_piece(limn_context *ctx, const void *data, size_t count, size_t size,
                             void **to) {
    *to = lm_alloc(&ctx->mem, count, size);
    if (!*to)
        return lm_fail_memory(ctx);
    memcpy(*to, data, count * size);
    return LIMN_OK;
}

static limn_status get_part(limn_context *ctx, const lm_file *file, pt_model *m, part which) {
    size_t total, size, at = 0;
    const void *data = NULL;
    if (!count_items(m, which, &total, &size))
        return lm_file_bad(ctx, file, "its sizes are invalid");
    if (!total)
        return LIMN_OK;
    limn_status status = lm_file_array(ctx, file, named(m, part_names[which]).text, PT_FILE_VERSION,
                                       total, size, &data);
    for (size_t i = 0; i < (of_node(which) ? m->nodes : m->leaves) && status == LIMN_OK; i++) {
        size_t count;
        void **to = piece(m, which, i, &count, &size);
        const unsigned char *from = (const unsigned char *)data + at;
        at += count * size;
        if (which == PART_BIASES || which == PART_COUNTS)
            status = own_piece(ctx, from, count, size, to);
        else if (count)
            *to = (void *)(uintptr_t)from; /* not written while it is a view */
    }
    return status;
}

static bool floats_fine(const float *x, size_t n, float least) {
    for (size_t i = 0; i < n; i++)
        if (!(x[i] >= least && x[i] <= FLT_MAX))
            return false;
    return true;
}

static bool doubles_fine(const double *x, size_t n, double most) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= most))
            return false;
    return true;
}

/* Of rows: kernels for numbers of 0 or more grow without limit below. */
static float least_of(const pt_model *m) {
    lm_kernel_type type = m->o.kernel.type;
    return type == LM_CHI2_KERNEL || type == LM_INTERSECTION ? 0 : -FLT_MAX;
}

/* In range, and 0 past the last row. */
static bool pack_fine(const lm_pack *pack, float least) {
    if (!floats_fine(pack->data, pack->panels * LM_PANEL * pack->d, least))
        return false;
    for (size_t i = pack->n; i < pack->panels * LM_PANEL; i++)
        for (size_t j = 0; j < pack->d; j++)
            if (pack->data[((pack->panels - 1) * pack->d + j) * LM_PANEL + i % LM_PANEL] != 0)
                return false;
    return true;
}

static bool node_values_fine(const pt_model *m, const pt_node *node) {
    for (size_t j = m->d; node->w && j < m->stride; j++)
        if (node->w[j] != 0)
            return false;
    for (size_t i = 0; node->side && i < node->pack.n; i++)
        if (node->side[i] > 1)
            return false;
    return (!node->w || floats_fine(node->w, m->d, -FLT_MAX)) &&
           pack_fine(&node->pack, least_of(m));
}

static bool leaf_values_fine(const pt_model *m, const pt_leaf *leaf) {
    size_t cells = leaf->e.pack.n * m->outputs;
    for (size_t i = 0; i < leaf->kept; i++)
        if ((size_t)leaf->kept_label[i] >= m->classes) /* or below 0 */
            return false;
    for (size_t c = 0; c < m->classes; c++)
        if (leaf->count[c] > INT64_MAX / 2)
            return false;
    return pack_fine(&leaf->e.pack, least_of(m)) &&
           doubles_fine(leaf->e.coef, cells, LM_COEF_MOST) &&
           doubles_fine(leaf->e.drift, leaf->e.drift ? cells : 0, DRIFT_MOST) &&
           doubles_fine(leaf->bias, m->outputs, LM_COEF_MOST) &&
           floats_fine(leaf->kept_x, leaf->kept * m->d, least_of(m));
}

static limn_status check_values(limn_context *ctx, const lm_file *file, pt_model *m) {
    limn_status status = LIMN_OK;
    for (size_t i = 0; i < m->nodes; i++)
        if (!node_values_fine(m, &m->node[i]))
            return lm_file_bad(ctx, file, "the test of node %zu is invalid", i);
    for (size_t i = 0; i < m->leaves && status == LIMN_OK; i++) {
        pt_leaf *leaf = &m->leaf[i];
        if (!leaf_values_fine(m, leaf))
            return lm_file_bad(ctx, file, "the numbers of leaf %zu are invalid", i);
        for (size_t c = 1; c < m->classes; c++)
            leaf->majority =
                leaf->count[c] > leaf->count[leaf->majority] ? (int32_t)c : leaf->majority;
        status = lm_expansion_settle(ctx, &leaf->e);
    }
    return status;
}

static limn_status get_all(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                           pt_model *m) {
    limn_status status = LIMN_OK;
    if (!shape->classes || shape->classes > 1 << 20 || !shape->d || shape->d > UINT32_MAX / 2)
        return lm_file_bad(ctx, file, "its number of classes, %zu, or of features is invalid",
                           shape->classes);
    m->slope = lm_alloc_zero(&ctx->mem, m->classes, sizeof *m->slope);
    m->bend = lm_alloc_zero(&ctx->mem, m->classes, sizeof *m->bend);
    status = m->slope && m->bend ? get_about(ctx, file, m) : lm_fail_memory(ctx);
    if (status == LIMN_OK && m->seen != shape->rows)
        status = lm_file_bad(ctx, file, "the model has learned %llu of %llu rows",
                             (unsigned long long)m->seen, (unsigned long long)shape->rows);
    /* Each leaf needs a record in the file. */
    if (status == LIMN_OK && m->leaves > lm_file_size(file) / sizeof(leaf_record))
        status = lm_file_bad(ctx, file, "the number of leaves, %zu, is invalid", m->leaves);
    if (status != LIMN_OK) {
        m->nodes = m->leaves = 0;
        return status;
    }
    status = take_arrays(ctx, m);
    if (status == LIMN_OK)
        status = get_nodes(ctx, file, m);
    if (status == LIMN_OK)
        status = get_leaves(ctx, file, m);
    for (int which = 0; which < PARTS && status == LIMN_OK; which++)
        status = get_part(ctx, file, m, (part)which);
    return status == LIMN_OK ? check_values(ctx, file, m) : status;
}

limn_status pt_load(limn_context *ctx, const lm_file *file, const lm_shape *shape,
                    const lm_params *params, void **out) {
    pt_model *m = lm_alloc_zero(&ctx->mem, 1, sizeof *m);
    if (!m)
        return lm_fail_memory(ctx);
    m->o = pt_options_of(params);
    m->d = shape->d;
    m->classes = shape->classes;
    m->outputs = m->classes > 2 ? m->classes : 1;
    m->stride = (m->d + LM_PANEL - 1) / LM_PANEL * LM_PANEL;
    m->width = LM_PANEL;
    limn_status status = get_all(ctx, file, shape, m);
    if (status != LIMN_OK)
        pt_destroy(&ctx->mem, m);
    else
        *out = m;
    return status;
}
