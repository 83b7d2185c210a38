export function videoView() { return { opened() {} }; }
