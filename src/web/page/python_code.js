// Python code and command lines that compute the same labels.

const quoted = (text) => `'${text.replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;
const shell = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'"'"'`)}'`);
const inCsv = (name) => (/[",]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
const float = (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value));
const list = (items) => `[${items.join(", ")}]`;

/** Format a value for Python; `{ whole: n }` is an integer. */
function repr(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return quoted(value);
  return value.whole === undefined ? float(value) : String(value.whole);
}

export const pythonCall = {
  segment(name, options, masked) {
    const parameters = Object.entries(options).map(([key, value]) => `, ${key}=${repr(value)}`).join("") + (masked ? ", mask=photo.mask" : "");
    const { regions = true, ...others } = options;
    const flags = Object.entries(others).map(([key, value]) => ` --${key.replace("_", "-")} ${repr(value).replaceAll("'", "")}`).join("");
    return {
      python: `from meanshiftpp import picture, segment\n\nphoto = picture.read(${quoted(name)})\nlabels = segment(photo.values${parameters})`,
      cli: `meanshiftpp segment ${shell(name)} --labels -o labels.png${regions ? "" : " --clusters"}${flags}`,
    };
  },
  /** Only the command line leaves out identifiers and constants, so it always names the columns. */
  cluster(name, columns, isEvery, bandwidth, nClusters) {
    const selection = isEvery ? "" : `, ${list(columns.map(quoted))}`, sizes = bandwidth?.map(float);
    const labels = sizes ? `MeanShiftPP(${list(sizes)}).fit_predict(points)` : nClusters ? `MeanShiftPP().fit(points).cut(${nClusters}).labels_` : "MeanShiftPP().fit_predict(points)";
    const option = sizes ? ` -b ${sizes.join(",")}` : nClusters ? ` --n-clusters ${nClusters}` : "";
    return {
      python: `from meanshiftpp import MeanShiftPP\nfrom meanshiftpp.stream import open_points\n\npoints = open_points(${quoted(name)}${selection}).read()\nlabels = ${labels}`,
      cli: `meanshiftpp cluster ${shell(name)} --columns ${shell(columns.map(inCsv).join(","))}${option} -o labels.csv`,
    };
  },
};
