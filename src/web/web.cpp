// The kernel for a web page: pictures and tables as C functions, which page/kernel.js calls.
//
// A function that can fail returns 0 and keeps the message for last_error(). Everything runs on one thread,
// because threads of a page need headers that a plain file server does not send.
#include <emscripten/emscripten.h>

#include <cmath>
#include <memory>
#include <optional>

#include "kernel/bin/bin.hpp"
#include "kernel/image/colour.hpp"
#include "kernel/image/hierarchy.hpp"
#include "kernel/seek/seek.hpp"
#include "table_tree.hpp"

using namespace mspp;

namespace {

std::string error;
double tol = 1e-3;
int max_iter = 300;
std::optional<MergeTable> merge_table;

template <class Fn>
int guarded(Fn&& fn) {
    try {
        fn();
        return 1;
    } catch (const BadInput& bad) {
        error =
            bad.row < 0 ? bad.what() : "the value in row " + std::to_string(bad.row + 1) + " " + bad.what();
    } catch (const std::bad_alloc&) {
        error = "the page has too little memory for this file; install meanshiftpp, or use a smaller file";
    } catch (const std::exception& other) {
        error = other.what();
    }
    return 0;
}

struct Clustering {
    Modes modes;
    int n_cells;
    Array<double> centers, weights;
};

Clustering cluster(const Points& points, const double* cell_size, i32* labels) {
    Binned binned = bin(points, cell_size, nullptr, labels, 1, Strategy::automatic, *find_loops(nullptr));
    const std::vector<i64> no_periods(static_cast<size_t>(points.d));
    Clustering found;
    found.modes =
        seek(binned.grid.view(), Periods{no_periods.data()}, 1, tol, max_iter, 1, WindowSums::automatic);
    binned.assignment.take(found.modes.cell_labels.data(), labels, labels);
    found.n_cells = static_cast<int>(binned.grid.size());
    const Modes& modes = found.modes;
    for (size_t k = 0; k < modes.cells.size(); ++k)
        found.centers.push_back((static_cast<double>(modes.cells[k]) + modes.fractions[k]) *
                                cell_size[k % static_cast<size_t>(points.d)]);
    found.weights.assign(modes.weights.begin(), modes.weights.end());
    return found;
}

template <class T>
Points packed(const T* values, Dtype dtype, i64 n, int d) {
    return {reinterpret_cast<const char*>(values), dtype, n, d, static_cast<i64>(sizeof(T)) * d, sizeof(T)};
}

// A picture, with the steps of meanshiftpp.images.segmentation; pixels of alpha 0 are masked.
class Picture {
  public:
    Picture(const uint8_t* rgba, i64 width, i64 height)
        : shape_{1, height, width}, rgba_(rgba, rgba + 4 * width * height) {
        for (i64 i = 0; i < n(); ++i)
            if (rgba_[static_cast<size_t>(4 * i + 3)] > 0) inside_.push_back(i);
        if (inside_.empty()) throw BadInput("a picture must have a visible pixel; this one is transparent");
    }

    // OUT labels (N,), -1 for masked pixels. IN spatial: cell size in pixels, 0 to leave out coordinates.
    void cluster(Space space, double bandwidth, double spatial, i32* labels) const {
        std::vector<double> cell_size(3, bandwidth);
        if (spatial > 0) cell_size.insert(cell_size.end(), 2, spatial);
        const int d = static_cast<int>(cell_size.size());
        const Array<float> colours = colours_of(space);
        Array<float> rows;
        for (const i64 i : inside_) {
            rows.insert(rows.end(), &colours[static_cast<size_t>(3 * i)],
                        &colours[static_cast<size_t>(3 * i)] + 3);
            if (spatial > 0) {
                rows.push_back(static_cast<float>(i / shape_.width));
                rows.push_back(static_cast<float>(i % shape_.width));
            }
        }
        Array<i32> found(inside_.size());
        ::cluster(packed(rows.data(), Dtype::f32, static_cast<i64>(inside_.size()), d), cell_size.data(),
                  found.data());
        std::fill_n(labels, n(), -1);
        for (size_t k = 0; k < inside_.size(); ++k) labels[inside_[k]] = found[k];
    }

    void grow(Space space, double bandwidth, double spatial, double piece_size) {
        tree_.reset();
        Array<i32> clusters(static_cast<size_t>(n()));
        cluster(space, bandwidth, spatial, clusters.data());
        colours_ = colours_of(space);
        const bool is_lab = space == Space::lab;
        const Array<float> lab = is_lab ? Array<float>() : colours_of(Space::lab);
        const double lightness = is_lab || space == Space::luv ? 0.5 : 1.0;
        const Learned learned{merge_table ? &*merge_table : nullptr, is_lab ? colours_.data() : lab.data(),
                              nullptr};
        tree_.emplace(colours_.data(), clusters.data(), shape_, std::array<double, 3>{lightness, 1, 1},
                      static_cast<i64>(piece_size), HUGE_VAL, learned, 1);
    }

    // OUT labels (N,), -1 for masked pixels.
    void cut(double detail, i64 min_size, i32* labels) const {
        if (!tree_) throw BadInput("a cut needs regions: grow them first");
        tree_->cut(colours_.data(), tree_->count(1.0 / detail), std::min(std::max<i64>(min_size, 1), n()),
                   labels, 1);
    }

  private:
    i64 n() const { return shape_.size(); }
    Array<float> colours_of(Space space) const {
        Array<float> colours(static_cast<size_t>(3 * n()));
        const Points points{reinterpret_cast<const char*>(rgba_.data()), Dtype::u8, n(), 3, 4, 1};
        convert(points, space, 255, colours.data(), 1);
        return colours;
    }

    Shape shape_;
    Array<uint8_t> rgba_;
    Array<i64> inside_;
    Array<float> colours_;  // of the tree
    std::optional<Hierarchy> tree_;
};

Clustering last;  // of cluster_points
TreeSettings tree_settings;
std::unique_ptr<TableTree> last_tree;  // of grow_points
Array<double> described;               // a part of it

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* last_error() { return error.c_str(); }

EMSCRIPTEN_KEEPALIVE void configure(double new_tol, int new_max_iter) {
    tol = new_tol;
    max_iter = new_max_iter;
}

EMSCRIPTEN_KEEPALIVE int load_table(int trees, const uint8_t* features, const float* thresholds,
                                    const int16_t* values, int bias) {
    return guarded([&] { merge_table.emplace(trees, features, thresholds, values, bias); });
}

// IN points (n, d), cell_size (d,); OUT labels (n,). The functions below describe the result.
EMSCRIPTEN_KEEPALIVE int cluster_points(const double* points, int n, int d, const double* cell_size,
                                        i32* labels) {
    return guarded([&] { last = cluster(packed(points, Dtype::f64, n, d), cell_size, labels); });
}
EMSCRIPTEN_KEEPALIVE int n_modes() { return static_cast<int>(last.weights.size()); }
EMSCRIPTEN_KEEPALIVE int n_cells() { return last.n_cells; }
EMSCRIPTEN_KEEPALIVE int n_iter() { return last.modes.n_iter; }
EMSCRIPTEN_KEEPALIVE int converged() { return last.modes.converged; }
EMSCRIPTEN_KEEPALIVE const double* centers() { return last.centers.data(); }
EMSCRIPTEN_KEEPALIVE const double* weights() { return last.weights.data(); }

// IN critical (3, 4): the critical values of one, two and three features; stages (n,).
EMSCRIPTEN_KEEPALIVE void configure_tree(const double* critical, const double* stages, int n,
                                         double second_look) {
    for (CriticalValues& each : tree_settings.critical) {
        each = {critical[0], critical[1], critical[2], critical[3]};
        critical += 4;
    }
    tree_settings.stages.assign(stages, stages + n);
    tree_settings.second_look = second_look;
}
// IN points (n, d); OUT ids (n,), the leaf of each. The functions below change or describe the tree.
EMSCRIPTEN_KEEPALIVE int grow_points(const double* points, int n, int d, i32* ids) {
    return guarded([&] {
        last_tree = grow_table(packed(points, Dtype::f64, n, d), tree_settings);
        std::copy(last_tree->ids.begin(), last_tree->ids.end(), ids);
    });
}
EMSCRIPTEN_KEEPALIVE int grow_more(int n_clusters) {
    return guarded([&] { last_tree->grow_to(n_clusters); });
}
EMSCRIPTEN_KEEPALIVE int n_leaves() { return static_cast<int>(last_tree->sizes.size()); }
EMSCRIPTEN_KEEPALIVE int n_splits() { return static_cast<int>(last_tree->grown.tree.splits.size()); }
// OUT cluster, size, log2 of the radius and host of each leaf, then its position in data units.
EMSCRIPTEN_KEEPALIVE const double* leaves() {
    described.clear();
    const TreeLattice& lattice = last_tree->lattice();
    const size_t d = lattice.d();
    for (size_t k = 0; k < last_tree->sizes.size(); ++k) {
        described.push_back(static_cast<double>(last_tree->grown.tree.labels[k]));
        described.push_back(last_tree->sizes[k]);
        described.push_back(static_cast<double>(last_tree->grown.tree.radii[k]) * kLogUnit);
        described.push_back(static_cast<double>(last_tree->grown.hosts[k]));
        for (size_t j = 0; j < d; ++j)
            described.push_back(lattice.value(last_tree->leaves.positions[k * d + j], j));
    }
    return described.data();
}
// OUT the length of 1 in the tree along each feature, 0 for a constant one.
EMSCRIPTEN_KEEPALIVE const double* units() { return last_tree->lattice().units.data(); }
// OUT cluster, parent, stage, joins, score and depth of each split.
EMSCRIPTEN_KEEPALIVE const double* splits() {
    described.clear();
    for (const Split& split : last_tree->grown.tree.splits) {
        for (const i64 whole : {split.cluster, split.parent, split.stage, static_cast<i64>(split.joins)})
            described.push_back(static_cast<double>(whole));
        described.push_back(last_tree->score(split));
        described.push_back(split.depth);
    }
    return described.data();
}
EMSCRIPTEN_KEEPALIVE Picture* open_picture(const uint8_t* rgba, int width, int height) {
    std::unique_ptr<Picture> picture;
    guarded([&] { picture = std::make_unique<Picture>(rgba, width, height); });
    return picture.release();
}
EMSCRIPTEN_KEEPALIVE void close_picture(Picture* picture) { delete picture; }
EMSCRIPTEN_KEEPALIVE int cluster_picture(const Picture* picture, int space, double bandwidth, double spatial,
                                         i32* labels) {
    return guarded([&] { picture->cluster(static_cast<Space>(space), bandwidth, spatial, labels); });
}
EMSCRIPTEN_KEEPALIVE int grow_picture(Picture* picture, int space, double bandwidth, double spatial,
                                      double piece_size) {
    return guarded([&] { picture->grow(static_cast<Space>(space), bandwidth, spatial, piece_size); });
}
EMSCRIPTEN_KEEPALIVE int cut_picture(const Picture* picture, double detail, int min_size, i32* labels) {
    return guarded([&] { picture->cut(detail, min_size, labels); });
}
}
