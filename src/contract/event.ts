/**
 * The event envelope (interface 12.2): the core writes it into the outbox, and the webhook engine sends the same bytes. The
 * body is built once, inside the transaction of the change.
 */
type EventKind = string;

/** The member of events and answers that names the tenant. */
export const tenantMember = 'restuid';

/** An event as the outbox stores it. `body` is the exact text that every endpoint receives. */
export type RecordedEvent = {
  id: string;
  tenant: string;
  kind: EventKind;
  event: string;
  entity: string;
  seq: number;
  previousSeq: number | null;
  created: Date;
  body: string;
};

/** Bytes above which the longest lists of a body become null (interface 12.2). */
const eventBodyBytesMax = 256 * 1024;

/**
 * Body text with the members in the order of interface 12.2. `object` is the name of its member, `trailing`
 * comes after previous_seq (change, changed_fields). Above the limit the longest lists become null, longest first.
 */
export const buildEventBody = (parts: {
  event: string;
  object: string;
  value: Record<string, unknown>;
  id: string;
  created: Date;
  tenant: string;
  seq: number;
  previousSeq: number | null;
  trailing?: Record<string, unknown>;
}): string => {
  const build = (value: Record<string, unknown>, truncated: boolean): string =>
    JSON.stringify({
      event: parts.event,
      [parts.object]: value,
      id: parts.id,
      created: parts.created.toISOString(),
      [tenantMember]: parts.tenant,
      seq: parts.seq,
      previous_seq: parts.previousSeq,
      ...parts.trailing,
      ...(truncated ? { truncated: true } : undefined),
    });
  const whole = build(parts.value, false);
  if (Buffer.byteLength(whole) <= eventBodyBytesMax) return whole;
  const value = structuredClone(parts.value);
  for (;;) {
    const longest = findLongestList(value);
    if (longest === undefined) return build(value, true);
    longest.holder[longest.name] = null;
    const text = build(value, true);
    if (Buffer.byteLength(text) <= eventBodyBytesMax) return text;
  }
};

type ListPlace = { holder: Record<string, unknown>; name: string; bytes: number };

const findLongestList = (node: Record<string, unknown>): ListPlace | undefined => {
  let longest: ListPlace | undefined;
  for (const [name, value] of Object.entries(node)) {
    let found: ListPlace | undefined;
    if (Array.isArray(value)) found = { holder: node, name, bytes: JSON.stringify(value).length };
    else if (isRecord(value)) found = findLongestList(value);
    if (found !== undefined && (longest === undefined || found.bytes > longest.bytes)) longest = found;
  }
  return longest;
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
