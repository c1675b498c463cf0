/** Floods of refusals become few events, whatever differs between their requests. */
import { expect, test } from 'vitest';
import type { NewAuditEvent } from '#src/gateway/audit/event/event.ts';
import { createFloodGrouping } from '#src/gateway/audit/record/group-floods.ts';

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
  for (let i = 0; i < 10_000; i += 1) floods.isListed(refused({ address: `2001:db8::${i}` }));
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
