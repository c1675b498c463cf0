/** Circles in a graph of imports, by Tarjan's algorithm for strongly connected components. */

export type Edge = { from: string; to: string };

/** Groups of nodes that reach each other, each sorted. A node that only points to itself is no circle. */
export const findCircles = (edges: readonly Edge[]): string[][] => {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const lower = (node: string, value: number | undefined): void => {
    lowest.set(node, Math.min(lowest.get(node) ?? Number.POSITIVE_INFINITY, value ?? Number.POSITIVE_INFINITY));
  };
  const visit = (node: string): void => {
    index.set(node, index.size);
    lower(node, index.get(node));
    stack.push(node);
    for (const target of targets.get(node) ?? []) {
      if (!index.has(target)) {
        visit(target);
        lower(node, lowest.get(target));
      } else if (stack.includes(target)) lower(node, index.get(target));
    }
    if (lowest.get(node) !== index.get(node)) return;
    const circle = stack.splice(stack.indexOf(node));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const node of targets.keys()) if (!index.has(node)) visit(node);
  return circles;
};
