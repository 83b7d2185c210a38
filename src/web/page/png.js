// Grey PNG files of 8 or 16 bits: label images and masks.

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

function chunk(type, data) {
  const bytes = new Uint8Array(12 + data.length), view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  let crc = -1;
  for (let i = 4; i < bytes.length - 4; i++) crc = (crc >>> 8) ^ crcTable[(crc ^ bytes[i]) & 255];
  view.setUint32(bytes.length - 4, ~crc);
  return bytes;
}

/** Encode values of 8 or 16 bits as a grey PNG. */
export async function greyPng(values, width, height) {
  const size = values.BYTES_PER_ELEMENT, row = 1 + size * width, raw = new Uint8Array(row * height);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0, at = y * row + 1; x < width; x++, i++) {
      if (size === 2) raw[at++] = values[i] >> 8;
      raw[at++] = values[i] & 255;
    }
  }
  const deflated = new Response(new Blob([raw]).stream().pipeThrough(new CompressionStream("deflate")));
  const header = new Uint8Array(13), view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header[8] = 8 * size;
  const parts = [chunk("IHDR", header), chunk("IDAT", new Uint8Array(await deflated.arrayBuffer())), chunk("IEND", new Uint8Array(0))];
  return new Blob([Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10), ...parts], { type: "image/png" });
}
