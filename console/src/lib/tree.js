/** Sessions and their forks. */

/**
 * Sessions in the order of a tree, each with its depth. A parent that has ended leaves its forks at the top.
 * @param {any[]} sessions
 * @returns {{session: any, depth: number, isLast: boolean}[]}
 */
export function treeOf(sessions) {
  const ids = new Set(sessions.map((s) => s.session_id));
  /** @type {Map<string, any[]>} */
  const children = new Map();
  for (const s of sessions) {
    const parent = s.parent && ids.has(s.parent) && s.parent !== s.session_id ? s.parent : "";
    children.set(parent, [...(children.get(parent) ?? []), s]);
  }
  /** @type {{session: any, depth: number, isLast: boolean}[]} */
  const list = [];
  const seen = new Set();
  /** @type {(parent: string, depth: number) => void} */
  const walk = (parent, depth) => {
    const own = children.get(parent) ?? [];
    own.forEach((session, n) => {
      if (seen.has(session.session_id)) return;
      seen.add(session.session_id);
      list.push({ session, depth, isLast: n === own.length - 1 });
      walk(session.session_id, depth + 1);
    });
  };
  walk("", 0);
  for (const session of sessions) if (!seen.has(session.session_id)) list.push({ session, depth: 0, isLast: true });
  return list;
}
