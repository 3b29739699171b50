/* hnsw.cpp: the nearest neighbour by hnswlib, M = 16, ef_construction = 200, built by one thread.
 * The index is kept beside the table of training rows, so that it is built once. */
#include "peer.h"

#include <fstream>
#include <hnswlib/hnswlib.h>
#include <string>

namespace {

struct searcher {
    table train;
    hnswlib::L2Space space;
    hnswlib::HierarchicalNSW<float> *index;
};

int32_t answer(void *state, size_t, const float *x) {
    auto *s = static_cast<searcher *>(state);
    return s->train.label[s->index->searchKnn(x, 1).top().second];
}

double build(searcher *s, const std::string &path) {
    auto rows = static_cast<size_t>(s->train.n), d = static_cast<size_t>(s->train.d);
    double start = seconds_now();
    hnswlib::HierarchicalNSW<float> index(&s->space, rows, 16, 200);
    for (size_t i = 0; i < rows; i++)
        index.addPoint(s->train.x + i * d, i);
    double seconds = seconds_now() - start;
    index.saveIndex(path);
    return seconds;
}

} // namespace

peer hnsw_open(const char *train_path, size_t ef) {
    table train = table_read(train_path);
    auto *s = new searcher{train, hnswlib::L2Space(static_cast<size_t>(train.d)), nullptr};
    std::string path = std::string(train_path) + ".hnsw";
    peer p = {};
    if (!std::ifstream(path))
        p.build_seconds = build(s, path);
    s->index = new hnswlib::HierarchicalNSW<float>(&s->space, path);
    s->index->setEf(ef);
    p.state = s;
    p.answer = answer;
    p.bytes = static_cast<size_t>(std::ifstream(path, std::ios::ate | std::ios::binary).tellg());
    return p;
}
