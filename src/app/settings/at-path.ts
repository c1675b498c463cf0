/** Members of nested objects by a path with dots: `gateway.realm`. */

/** Makes the objects on the way. */
export const setAt = (target: Record<string, unknown>, path: string, value: unknown): void => {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let holder = target;
  for (const name of names) {
    const inner = holder[name];
    if (typeof inner !== 'object' || inner === null) holder[name] = {};
    holder = holder[name] as Record<string, unknown>;
  }
  holder[last] = value;
};

/** Undefined where nothing is. */
export const getAt = (source: Record<string, unknown>, path: string): unknown => {
  let value: unknown = source;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
};

/** Removes what stands there, if anything does. */
export const deleteAt = (target: Record<string, unknown>, path: string): void => {
  const names = path.split('.');
  const last = names.pop() ?? '';
  const holder = names.length === 0 ? target : getAt(target, names.join('.'));
  if (typeof holder === 'object' && holder !== null) Reflect.deleteProperty(holder, last);
};
