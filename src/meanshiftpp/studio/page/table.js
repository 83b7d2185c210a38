export function tableView() { return { opened() {} }; }
