/** Floods of refusals become few events, whatever differs between their requests. */
import { expect, test } from 'vitest';
import type { NewAuditEvent } from '#src/gateway/audit/event/event.ts';
import { createFloodGrouping } from '#src/gateway/audit/record/group-floods.ts';
import { createWaitingEvents } from '#src/gateway/audit/record/waiting-events.ts';
import { createMovableClock } from '../harness/gateway-harness.ts';

const refused = (more: Partial<NewAuditEvent>): NewAuditEvent => ({
  action: 'token.refused',
  outcome: 'failure',
  reason: 'invalid_client',
  address: '192.0.2.1',
  ...more,
});

test('refused tokens of one address are one flood, whichever client each of them claims', () => {
  const floods = createFloodGrouping(() => 0);
  const listed = Array.from({ length: 300 }, (_, i) => floods.isListed(refused({ client_id: `opc_${i}` })));
  expect(listed.filter(Boolean)).toHaveLength(100);
  expect(floods.take(true)).toMatchObject([{ action: 'token.refused', count: 200, client_id: null }]);
});

test('what is counted beyond the groups of a minute keeps its action and reason', () => {
  const floods = createFloodGrouping(() => 0);
  for (let i = 0; i < 10_000; i += 1) floods.isListed(refused({ address: `2001:db8:0:${i}::1` }));
  const denied = { action: 'request.denied', reason: 'scope_missing' } as const;
  for (let i = 0; i < 300; i += 1) {
    floods.isListed(refused({ address: `2001:db8:1::${i}` }));
    floods.isListed(refused({ ...denied, address: `2001:db8:2::${i}` }));
  }
  expect(floods.take(true).map(({ action, reason, count }) => [action, reason, count])).toEqual([
    ['token.refused', 'invalid_client', 200],
    ['request.denied', 'scope_missing', 200],
  ]);
});

test('A-575 a flood that waits to be written leaves room for other events, however many requests it counts', () => {
  const events = createWaitingEvents(createMovableClock());
  for (let i = 0; i < 250_000; i += 1) events.isListed(refused({}));
  const batch = events.take(true);
  expect(batch.map(({ event }) => event.count)).toEqual([249_900]);
  expect([events.isFull(), events.count()]).toEqual([false, 1]);
  events.written(batch);
  expect(events.count()).toBe(0);
});

test('events that wait over the end of a month are written month by month, and answers first within a month', () => {
  let now = new Date('2026-01-31T23:51:00Z');
  const events = createWaitingEvents({ now: () => now });
  const what = {
    ...{ kind: 'api_key', credential_id: 'opk_1', client_id: null, tenants: [], scopes: [], address: null },
    ...{ fingerprint: null, token_id: null },
  };
  const request = (route_id: string): void => events.allow(events.describe({ ...what, route_id }), 'req_1');
  const refusal = (): void => {
    events.reserve();
    events.add(refused({}), () => undefined);
  };
  request('before');
  refusal();
  now = new Date('2026-02-01T01:05:00Z');
  request('after');
  refusal();
  expect(events.take(false).map(({ event }) => [event.at.getUTCMonth(), event.route_id])).toEqual([
    [0, null],
    [0, 'before'],
    [1, null],
    [1, 'after'],
  ]);
});
