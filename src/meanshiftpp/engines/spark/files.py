"""Data frames that are exactly the rows of Parquet files, which tasks read without Spark.

Spark passes rows to Python one by one through Arrow, at twenty times the cost of binning them.
Tasks that read the files themselves avoid this. They may do so only if they read the same rows, so
`find_scan` examines the optimised plan, which includes cached data, pruned partitions and the rules
of extensions. It returns files only if this plan consists of one scan of all rows of Parquet files
and of selections of its columns. Anything else, also anything unexpected, is left to Spark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from meanshiftpp.engines.spark.tasks import WEIGHT, Part

MIN_TASK_BYTES = 1 << 23  # of files, for one task
TASKS_PER_CORE = 4  # at least, if the data is large enough: tasks take different times
MAX_FILES = 10_000  # each costs several calls of the driver's Java process

_SOURCES = "org.apache.spark.sql.execution.datasources"
_CATALYST = "org.apache.spark.sql.catalyst"
_PROJECT = f"{_CATALYST}.plans.logical.Project"
_ALIAS = f"{_CATALYST}.expressions.Alias"
_ATTRIBUTE = f"{_CATALYST}.expressions.AttributeReference"
# Subclasses, such as those of Delta tables, may leave out rows, so the classes must be these.
_LOGICAL_RELATION = f"{_SOURCES}.LogicalRelation"
_RELATION = f"{_SOURCES}.HadoopFsRelation"
_FORMAT = f"{_SOURCES}.parquet.ParquetFileFormat"
_FILE_INDEX = f"{_SOURCES}.InMemoryFileIndex"
_FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"  # columns are then not found by name

_WHOLE_TYPES = {"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64"}
_ARROW_TYPES = {**_WHOLE_TYPES, "float": "float32", "double": "float64"}


class Column(NamedTuple):
    """A column of the files: its name there, its Arrow type, and its name in the frame."""

    name: str
    kind: str
    output: str


class Scan(NamedTuple):
    """The columns to read, and the parts of files for each task."""

    columns: list[Column]
    tasks: list[list[Part]]


def find_scan(points: Any) -> Scan | None:
    """Return the files whose rows are those of a data frame, or None if this is not certain."""
    try:
        return _scan(points)
    except Exception:  # plans are internals of Spark, and absent in Spark Connect
        return None


def _scan(points: Any) -> Scan | None:
    session = points.sparkSession
    plan = points._jdf.queryExecution().optimizedPlan()
    if plan.isStreaming() or session.conf.get(_FIELD_IDS, "false") != "false":
        return None
    relation, names = _resolve(plan)
    if _class(relation) != _RELATION or _class(relation.fileFormat()) != _FORMAT:
        return None
    if _class(relation.location()) != _FILE_INDEX:
        return None
    columns = [_column(each, names) for each in _items(plan.output())]
    stored = set(relation.dataSchema().fieldNames()) - set(relation.partitionSchema().fieldNames())
    if None in columns or not {column.name for column in columns if column} <= stored:
        return None
    files = _files(relation, session)
    return None if files is None else Scan([c for c in columns if c], _divide(files, session))


def _resolve(plan: Any) -> tuple[Any, dict[int, str]]:
    """Return the relation of a plan, and the name there of each attribute of the plan."""
    if _class(plan) == _LOGICAL_RELATION:
        return plan.relation(), {each.exprId().id(): each.name() for each in _items(plan.output())}
    if _class(plan) != _PROJECT:
        raise ValueError("the plan is not a scan")
    relation, below = _resolve(plan.child())
    names = {}
    for each in _items(plan.projectList()):
        source = each.child() if _class(each) == _ALIAS else each
        if _class(source) != _ATTRIBUTE:
            raise ValueError("a column is computed")
        names[each.exprId().id()] = below[source.exprId().id()]
    return relation, names


def _column(attribute: Any, names: dict[int, str]) -> Column | None:
    """Return the column of an attribute, or None if Spark and pyarrow might read it differently."""
    name, output = names[attribute.exprId().id()], attribute.name()
    # Real weights are rounded partition by partition, so they depend on how rows are divided.
    kinds = _WHOLE_TYPES if output == WEIGHT else _ARROW_TYPES
    kind = kinds.get(attribute.dataType().simpleString())
    # In pyarrow, a dot also selects a field of a struct.
    return None if kind is None or "." in name else Column(name, kind, output)


def _files(relation: Any, session: Any) -> list[tuple[str, int]] | None:
    """Return path and size of the files that a scan reads; None if tasks cannot open them."""
    nothing = session.sparkContext._jvm.PythonUtils.toSeq([])
    files: list[tuple[str, int]] = []
    for folder in _items(relation.location().listFiles(nothing, nothing)):
        for file in _items(folder.files()):
            uri = file.getPath().toUri()
            if uri.getScheme() != "file" or len(files) == MAX_FILES:
                return None
            files.append((str(uri.getPath()), int(file.getLen())))
    return files


def _divide(files: list[tuple[str, int]], session: Any) -> list[list[Part]]:
    """Divide files into tasks of about the same number of bytes."""
    settings = session._jsparkSession.sessionState().conf()
    largest, cores = settings.filesMaxPartitionBytes(), session.sparkContext.defaultParallelism
    total = sum(size for _, size in files)
    limit = min(largest, max(MIN_TASK_BYTES, total // (TASKS_PER_CORE * cores)))
    tasks: list[list[Part]] = []
    filled = math.inf
    for path, size in files:
        n_parts = max(1, -(-size // limit))
        for number in range(n_parts):
            if filled + size / n_parts > limit:
                tasks.append([])
                filled = 0
            tasks[-1].append(Part(path, size, number, n_parts))
            filled += size / n_parts
    return tasks


def _class(value: Any) -> str:
    return str(value.getClass().getName())


def _items(sequence: Any) -> Iterator[Any]:
    """Yield the items of a sequence of Scala."""
    for k in range(sequence.size()):
        yield sequence.apply(k)
