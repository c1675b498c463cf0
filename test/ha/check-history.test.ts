/** Each check of the failover test finds what it is for in a history that was made for it. */
import { expect, test } from 'vitest';
import {
  type FeedEvent,
  longestOutage,
  passesOfRevoked,
  refusalsOfLiving,
  wrongDeliveries,
  wrongEvents,
  wrongOrders,
  wrongRefusals,
} from './check-history.ts';
import type { Call, CallKind, History } from './load/history.ts';

const call = (kind: CallKind, key: string, more: Partial<Call> = {}): Call => ({
  ...{ kind, key, beginMs: 0, endMs: 10, status: 200, error: '', hasRetryAfter: false },
  ...more,
});

const order = call('order', 'order-0-1', { uid: 'a' });
const close = call('close', 'close-0-1');
const row = { uid: 'a', email: 'order-0-1@example.com', status: 'closed' };

const event = (name: string, seq: number): FeedEvent => ({
  ...{ id: `evt-${seq}`, event: name, kind: 'orders', entity: 'a', body: `{"seq":${seq}}` },
  ...{ seq, previous_seq: seq === 1 ? null : seq - 1 },
});
const events = [event('order.new', 1), event('order.confirmed', 2), event('order.closed', 3)] as const;

const delivery = ({ id, body }: FeedEvent) => ({ path: '/', headers: { 'webhook-id': id }, body, at: 0 });

const history = (calls: Call[], more: Partial<History> = {}): History => ({
  ...{ calls, credentials: [{ name: 'key', headers: {}, revokingMs: 900, revokedMs: 1_000 }], outages: [] },
  now: () => 0,
  ...more,
});

test('an acknowledged order that is lost, doubled, under another uid or not closed is found', () => {
  expect(wrongOrders([order, close], [row])).toEqual([]);
  expect(wrongOrders([order], [])).toHaveLength(1);
  expect(wrongOrders([order], [row, { ...row, uid: 'b' }])).toHaveLength(1);
  expect(wrongOrders([order, { ...order, uid: 'b' }], [row])).toHaveLength(1);
  expect(wrongOrders([order, close], [{ ...row, status: 'confirmed' }])).toHaveLength(1);
});

test('a missing or doubled event, a gap in the chain of an entity, and an import without its event are found', () => {
  const [first, second, third] = events;
  expect(wrongEvents([order, close], events)).toEqual([]);
  expect(wrongEvents([order, close], [first, second])).toHaveLength(1);
  expect(wrongEvents([order, close], [first, third])).not.toEqual([]);
  expect(wrongEvents([order], [first, first, second])).not.toEqual([]);
  expect(wrongEvents([call('menu', 'menu-1')], [])).toHaveLength(1);
});

test('an event that does not come, comes with another body or before an earlier one is found; a repeat is none', () => {
  const [first, second, third] = events.map(delivery) as [Delivery, Delivery, Delivery];
  expect(wrongDeliveries(events, [first, second, first, third])).toEqual([]);
  expect(wrongDeliveries(events, [first, second])).toHaveLength(1);
  expect(wrongDeliveries(events, [second, first, third])).toHaveLength(1);
  expect(wrongDeliveries(events, [first, second, { ...third, body: '{}' }])).toHaveLength(1);
});

type Delivery = ReturnType<typeof delivery>;

test('a write without an answer, and its refusal without a time for the next try or with another status, are found', () => {
  const refused = { status: 503, hasRetryAfter: true };
  expect(wrongRefusals([call('order', 'a', refused), call('use', 'b', { status: 401 })])).toEqual([]);
  expect(wrongRefusals([call('order', 'a', { ...refused, hasRetryAfter: false })])).toHaveLength(1);
  expect(wrongRefusals([call('order', 'a', { ...refused, status: 500 })])).toHaveLength(1);
  expect(wrongRefusals([call('order', 'a', { status: 0 })])).toHaveLength(1);
});

test('a pass of a revoked credential counts from its revocation, or from the end of an outage between the two', () => {
  const calls = [call('use', 'key', { beginMs: 950 }), call('use', 'key', { beginMs: 3_500 })];
  expect(passesOfRevoked(history(calls))).toEqual([{ name: 'key', lateMs: 2_500 }]);
  const outages = [{ beginMs: 800, endMs: 3_000 }];
  expect(passesOfRevoked(history(calls, { outages }))).toEqual([{ name: 'key', lateMs: 500 }]);
});

test('a refusal of a credential that was not being revoked is found', () => {
  const refused = { status: 401, endMs: 800 };
  expect(refusalsOfLiving(history([call('use', 'key', refused)]))).toHaveLength(1);
  expect(refusalsOfLiving(history([call('use', 'key', { ...refused, endMs: 950 })]))).toEqual([]);
  expect(refusalsOfLiving(history([call('use', 'key', { ...refused, status: 503 })]))).toEqual([]);
});

test('the longest time without an acknowledged write since the fault is found', () => {
  const calls = [100, 1_100, 1_200, 9_000, 9_100].map((endMs) => call('order', 'a', { endMs }));
  const refused = call('order', 'a', { endMs: 4_000, status: 503 });
  expect(longestOutage([...calls, refused], 1_000)).toEqual({ beginMs: 1_200, endMs: 9_000 });
});
