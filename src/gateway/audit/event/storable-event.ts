/**
 * Text that PostgreSQL cannot store, U+0000 and half of a surrogate pair, is replaced. A statement with such an event would
 * fail however often it is repeated, and every later event waits for it.
 */

const isStorable = (value: unknown): boolean => {
  if (typeof value === 'string') return !value.includes('\u0000') && value.isWellFormed();
  return !Array.isArray(value) || value.every(isStorable);
};

const storable = (value: unknown): unknown => {
  if (typeof value === 'string') return value.replaceAll('\u0000', '\ufffd').toWellFormed();
  return Array.isArray(value) ? value.map(storable) : value;
};

/** The event itself, or a copy where something was replaced. It may list a thousand request ids, which are only looked at. */
export const storableEvent = <T extends object>(event: T): T => {
  const wrong = Object.entries(event).filter(([, value]) => !isStorable(value));
  if (wrong.length === 0) return event;
  return { ...event, ...Object.fromEntries(wrong.map(([name, value]) => [name, storable(value)])) };
};
