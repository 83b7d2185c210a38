"""The paper's experiments, run again with this package: one command, one report.

    make paper DATA=dir                        # all of it, under an hour on two cores
    python -m benchmarks.paper dir --quick     # small, to see that it runs
    python -m benchmarks.paper dir --only table2 tracking

`dir` has `tables/`, `bsds500/` and `tracking/`; a table that is not there is fetched from UCI or
OpenML where the network allows. The report, paper.html and paper.md, keeps apart what was measured
here and what the paper says. A run that was stopped goes on where it was.

    printed      what the paper prints, as data
    tables       the data sets of its Table 1 by name        sensors  the large ones, or stand-ins
    bounded      calls in a process of their own, which ends at the time limit
    setting      what the sections share                     page     the report
    plane        Figures 1 and 2
    clustering   Table 2 and Figure 3                        clustering_plots  its pictures
    gallery      the segmented pictures
    others       BSDS500, tracking and the theorem, which have benchmarks of their own
"""
