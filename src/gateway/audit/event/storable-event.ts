/**
 * Text that PostgreSQL cannot store, U+0000 and half of a surrogate pair, is replaced. A statement with such an event would
 * fail however often it is repeated, and every later event waits for it.
 */

const storableText = (text: string): string =>
  text.includes('\u0000') || !text.isWellFormed() ? text.replaceAll('\u0000', '\ufffd').toWellFormed() : text;

const storableValue = (value: unknown): unknown => {
  if (typeof value === 'string') return storableText(value);
  return Array.isArray(value) ? value.map(storableValue) : value;
};

/** The event itself, or a copy where something was replaced. */
export const storableEvent = <T extends object>(event: T): T => {
  const replaced = Object.entries(event)
    .map(([name, value]) => [name, value, storableValue(value)] as const)
    .filter(([, value, storable]) => (Array.isArray(value) ? String(value) !== String(storable) : value !== storable));
  if (replaced.length === 0) return event;
  return { ...event, ...Object.fromEntries(replaced.map(([name, , storable]) => [name, storable])) };
};
