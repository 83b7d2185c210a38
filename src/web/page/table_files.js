// Tables in memory: CSV and NPY files as rows of numbers, in one Float64Array.

const READERS = { "<f8": Float64Array, "<f4": Float32Array, "|u1": Uint8Array, "|i1": Int8Array, "<u2": Uint16Array, "<i2": Int16Array, "<u4": Uint32Array, "<i4": Int32Array, "<i8": BigInt64Array, "<u8": BigUint64Array };

/** Read a table: the names of its columns, the number of rows, and the values row by row. */
export async function readTable(file) {
  const table = file.name.toLowerCase().endsWith(".npy") ? readNpy(await file.arrayBuffer(), file.name) : readCsv(await file.text(), file.name);
  if (table.columns.length < 2) throw new Error(`A plot needs two or three columns of numbers, but '${file.name}' has ${table.columns.length}.`);
  if (!table.rows) throw new Error(`A plot needs at least one row, but '${file.name}' has none.`);
  return table;
}

function readNpy(buffer, name) {
  const view = new DataView(buffer), isNpy = new TextDecoder("latin1").decode(buffer.slice(1, 6)) === "NUMPY";
  const isOld = isNpy && view.getUint8(6) === 1, start = isOld ? 10 : 12;
  const end = isNpy ? start + (isOld ? view.getUint16(8, true) : view.getUint32(8, true)) : 0;
  const header = new TextDecoder("latin1").decode(buffer.slice(start, end));
  const Reader = READERS[/'descr': '([^']+)'/.exec(header)?.[1]], shape = /'shape': \((\d+), (\d+)\)/.exec(header);
  if (!Reader || !shape) throw new Error(`'${name}' must be an NPY file with two dimensions of numbers; save such an array with numpy.save.`);
  const [rows, d] = [Number(shape[1]), Number(shape[2])], raw = new Reader(buffer.slice(end, end + rows * d * Reader.BYTES_PER_ELEMENT));
  const values = new Float64Array(rows * d), isByColumn = header.includes("'fortran_order': True");
  for (let i = 0; i < rows; i++) for (let j = 0; j < d; j++) values[i * d + j] = Number(raw[isByColumn ? j * rows + i : i * d + j]);
  return { columns: Array.from({ length: d }, (_, j) => `x${j}`), rows, values };
}

/** Split a line of a CSV file; quoted fields may contain separators. */
function fields(line) {
  if (!line.includes('"')) return line.split(",");
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain);
}

function readCsv(text, name) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/).filter((line) => line.trim());
  const names = fields(lines[0] ?? "").map((field) => field.trim());
  const cells = lines.slice(1).map((line, i) => {
    const row = fields(line);
    if (row.length !== names.length) throw new Error(`Row ${i + 1} of '${name}' must have ${names.length} values, as the header, but has ${row.length}; correct the row.`);
    return row;
  });
  const number = (field) => (field.trim() === "" ? NaN : Number(field));
  const isNumber = (field) => field.trim() === "" || !Number.isNaN(Number(field));
  const kept = names.map((_, j) => j).filter((j) => cells.every((row) => isNumber(row[j])) && cells.some((row) => row[j].trim()));
  const values = new Float64Array(cells.length * kept.length);
  cells.forEach((row, i) => kept.forEach((j, k) => { values[i * kept.length + k] = number(row[j]); }));
  return { columns: kept.map((j) => names[j]), rows: cells.length, values };
}
