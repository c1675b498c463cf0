/** Compares the history of a run with the database, the feed of events and the receiver. Each check returns what is wrong. */
import type { ReceivedRequest } from '../support/webhook-receiver.ts';
import { type Call, type CallKind, type History, isAcknowledged, isWrite, type Outage } from './load/history.ts';
import { closeKeyOf, emailOf } from './load/load.ts';

export type OrderRow = { uid: string; email: string; status: string };

export type FeedEvent = {
  id: string;
  event: string;
  kind: string;
  entity: string;
  seq: number;
  previous_seq: number | null;
  body: string;
};

const uidsOf = (calls: readonly Call[]): Map<string, Set<string>> => {
  const uids = new Map<string, Set<string>>();
  for (const { kind, key, uid = '', ...call } of calls) {
    if (kind !== 'order' || call.status !== 200) continue;
    uids.set(key, (uids.get(key) ?? new Set()).add(uid));
  }
  return uids;
};

/** Acknowledged orders that are not there once, under one uid, and orders that are there twice. */
export const wrongOrders = (calls: readonly Call[], rows: readonly OrderRow[]): string[] => {
  const found = Map.groupBy(rows, ({ email }) => email);
  const closed = keysOf(calls, 'close');
  const wrong: string[] = [];
  for (const [email, orders] of found) if (orders.length > 1) wrong.push(`${email} has ${orders.length} orders`);
  for (const [key, uids] of uidsOf(calls)) {
    const [row] = found.get(emailOf(key)) ?? [];
    if (row === undefined) wrong.push(`${key} was acknowledged and is lost`);
    else if (uids.size !== 1 || !uids.has(row.uid)) wrong.push(`${key} is ${row.uid}, acknowledged: ${[...uids]}`);
    else if (closed.has(closeKeyOf(key)) && row.status !== 'closed')
      wrong.push(`${key} was closed and is ${row.status}`);
  }
  return wrong;
};

const keysOf = (calls: readonly Call[], kind: CallKind): Set<string> =>
  new Set(calls.filter((call) => call.kind === kind && isAcknowledged(call)).map(({ key }) => key));

const queueOf = ({ kind, entity }: FeedEvent): string => `${kind} ${entity}`;

/** Acknowledged changes without exactly one event, and gaps in the chain of an entity. `events`: oldest first. */
export const wrongEvents = (calls: readonly Call[], events: readonly FeedEvent[]): string[] => {
  const wrong: string[] = [];
  const closed = keysOf(calls, 'close');
  const counts = new Map<string, number>();
  const last = new Map<string, number>();
  for (const event of events) {
    const name = `${event.event} ${event.entity}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (event.previous_seq !== (last.get(queueOf(event)) ?? null))
      wrong.push(
        `${queueOf(event)}: ${event.previous_seq} is named before ${event.seq}, ${last.get(queueOf(event))} was`,
      );
    last.set(queueOf(event), event.seq);
  }
  for (const [key, [uid]] of uidsOf(calls)) {
    const names = ['order.new', 'order.confirmed', ...(closed.has(closeKeyOf(key)) ? ['order.closed'] : [])];
    for (const name of names) {
      const count = counts.get(`${name} ${uid}`) ?? 0;
      if (count !== 1) wrong.push(`${key} has ${count} events ${name}`);
    }
  }
  const imports = keysOf(calls, 'menu').size;
  const changes = events.filter(({ event }) => event === 'menu.changed').length;
  if (changes < imports) wrong.push(`${imports} imports were acknowledged, ${changes} have an event`);
  return wrong;
};

/** Events that did not come or came with other bytes, and those that came before an earlier one of their entity. */
export const wrongDeliveries = (events: readonly FeedEvent[], received: readonly ReceivedRequest[]): string[] => {
  const wrong: string[] = [];
  const known = new Map(events.map((event) => [event.id, event]));
  const arrived = new Map<string, number>();
  received.forEach(({ headers, body }, index) => {
    const id = String(headers['webhook-id']);
    if (!arrived.has(id)) arrived.set(id, index);
    if (known.has(id) && known.get(id)?.body !== body) wrong.push(`${id} came with another body`);
  });
  const before = new Map<string, number>();
  for (const event of events) {
    const index = arrived.get(event.id);
    if (index === undefined) wrong.push(`${event.event} ${event.id} did not come`);
    else if (index < (before.get(queueOf(event)) ?? -1)) wrong.push(`${event.event} ${event.id} came too early`);
    before.set(queueOf(event), index ?? Number.POSITIVE_INFINITY);
  }
  return wrong;
};

/** Writes without an answer, refusals that no failover explains, and those that do not name a time for the next try. */
export const wrongRefusals = (calls: readonly Call[]): string[] =>
  calls.filter((call) => isWrite(call) && !mayRefuse(call)).map(describe);

const mayRefuse = ({ status, error, hasRetryAfter }: Call): boolean =>
  status === 200 || (status === 503 && hasRetryAfter) || (status === 409 && error === 'CONFLICT');

const describe = ({ kind, key, status, error }: Call): string => `${kind} ${key}: ${status} ${error}`;

export type LatePass = { name: string; lateMs: number };

/** Uses that passed after the revocation was acknowledged and the store was back, with how long after. */
export const passesOfRevoked = ({ calls, credentials, outages }: History): LatePass[] => {
  const revoked = new Map(credentials.map(({ name, revokedMs }) => [name, revokedMs]));
  return calls.flatMap(({ kind, key, status, beginMs }) => {
    const revokedMs = revoked.get(key);
    if (kind !== 'use' || status !== 200 || revokedMs === undefined || beginMs < revokedMs) return [];
    const backMs = Math.max(...outages.filter((one) => one.endMs > revokedMs && one.beginMs < beginMs).map(endOf));
    return [{ name: key, lateMs: beginMs - Math.max(revokedMs, backMs) }];
  });
};

const endOf = ({ endMs }: Outage): number => endMs;

/** Uses without an answer, or refused as if the credential were unknown, that ended before its revocation was sent. */
export const refusalsOfLiving = ({ calls, credentials }: History): string[] => {
  const revoking = new Map(credentials.map(({ name, revokingMs }) => [name, revokingMs]));
  return calls
    .filter(({ kind, key, status, endMs }) => {
      const isLiving = endMs < (revoking.get(key) ?? Number.POSITIVE_INFINITY);
      return kind === 'use' && isLiving && ![200, 503].includes(status);
    })
    .map(describe);
};

/** The longest time without an acknowledged write since the fault: between the ends of two of them, or after the fault. */
export const longestOutage = (calls: readonly Call[], faultMs: number): Outage => {
  const ends = calls.filter((call) => isWrite(call) && isAcknowledged(call)).map(endOf);
  const points = [faultMs, ...ends.filter((ms) => ms > faultMs).sort((a, b) => a - b)];
  const pauses = points.slice(1).map((endMs, index) => ({ beginMs: points[index] ?? endMs, endMs }));
  return pauses.reduce((longest, one) => (lengthOf(one) > lengthOf(longest) ? one : longest), {
    beginMs: faultMs,
    endMs: faultMs,
  });
};

const lengthOf = ({ beginMs, endMs }: Outage): number => endMs - beginMs;
