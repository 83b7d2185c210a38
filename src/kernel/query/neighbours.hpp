// Query cells and the cells of a grid around them: what looking up and summing have in common.
#pragma once

#include "kernel/cells/periods.hpp"

namespace mspp {

// Walks over the query cells with the grid's cells that are at most `reach` away along all axes but the last.
// `make` is called with the keys of the grid (and of ghosts, where there are periods), those of the query,
// and a function from the first to the grid's cells; what it returns is called with each row of query cells,
// first to last, and the rows around it. Both lists are sorted and distinct, and neither is empty.
template <class Make>
void around(const GridView& grid, Periods periods, const i64* query, i64 m, i64 reach, int n_threads,
            Make make) {
    Box box(grid.d);
    box.add(query, m);
    box.add(grid.cells, grid.m);
    periods.widen(box, reach);
    with_keys(box, [&](auto D) {
        const auto own = make_keys<D>(grid.cells, grid.m, box), asked = make_keys<D>(query, m, box);
        Ghosts<D> ghosts(box, periods, reach);
        if (!ghosts.none()) ghosts.build(own);
        const auto& keys = ghosts.none() ? own : ghosts.keys();
        Trie trie, asked_trie;
        trie.build(keys);
        asked_trie.build(asked);
        auto row = make(keys, asked, [&](i64 k) { return ghosts.none() ? k : i64{ghosts.origin(k)}; });
        const int team = team_size(m, 4096, n_threads);
        parallel(team, [&](int t) { Walk(asked_trie, trie, row, reach).run(part(m, t, team)); });
    });
}

}  // namespace mspp
