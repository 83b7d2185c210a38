// Query cells and the cells of a grid around them: the walk that find_cells and window_counts share.
#pragma once

#include "kernel/cells/grid.hpp"
#include "kernel/cells/periods.hpp"
#include "kernel/cells/trie.hpp"

namespace mspp {

// Walks over the query cells with the grid's cells that are at most `reach` away along all axes but the last.
// Calls make_row(keys, query_keys, cell_of_key) once: the keys of the grid and of ghosts (if there are
// periods), those of the query, and a function from the first to the grid's cells. It returns a function that
// is called with each row of query cells, first to last, and the rows of keys around it. Both lists of cells
// are sorted and distinct, and neither is empty.
template <class MakeRow>
void walk_neighbours(const GridView& grid, Periods periods, const i64* query, i64 m, i64 reach, int n_threads,
                     MakeRow make_row) {
    Box box(grid.d);
    box.add(query, m);
    box.add(grid.cells, grid.m);
    periods.widen(box, reach);
    with_keys(box, [&](auto D) {
        const auto own = make_keys<D>(grid.cells, grid.m, box), query_keys = make_keys<D>(query, m, box);
        Ghosts<D> ghosts(box, periods, reach);
        if (!ghosts.none()) ghosts.build(own);
        const auto& keys = ghosts.none() ? own : ghosts.keys();
        Trie trie, query_trie;
        trie.build(keys);
        query_trie.build(query_keys);
        auto row =
            make_row(keys, query_keys, [&](i64 k) { return ghosts.none() ? k : i64{ghosts.origin(k)}; });
        const int team = team_size(m, 4096, n_threads);
        parallel(team, [&](int t) {
            Walk(query_trie, trie, ghosts.walked(), row, reach, query_trie.levels().size())
                .run(part(m, t, team));
        });
    });
}

}  // namespace mspp
