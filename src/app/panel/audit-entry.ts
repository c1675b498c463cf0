/** Maps an audit event of the gateway (Elastic Common Schema names) to the panel's type. */
import type { AuditEntry } from '#src/panel/index.ts';

export const toEntry = (event: Readonly<Record<string, unknown>>): AuditEntry => ({
  id: String(event['event.id']),
  at: new Date(String(event['@timestamp'])),
  action: String(event['event.action']),
  outcome: event['event.outcome'] === 'failure' ? 'failure' : 'success',
  reason: textOf(event['event.reason']),
  count: Number(event['orderpass.count']),
  requestIds: listOf(event['http.request.id']),
  fingerprint: textOf(event['orderpass.credential.fingerprint']),
  kind: textOf(event['orderpass.credential.kind']),
  credentialId: textOf(event['orderpass.credential.id']),
  tokenId: textOf(event['orderpass.token.id']),
  clientId: textOf(event['orderpass.client.id']),
  restaurants: listOf(event['orderpass.tenants']),
  routeId: textOf(event['orderpass.route.id']),
  scopes: listOf(event['orderpass.scopes']),
  address: textOf(event['source.ip']),
  actor: textOf(event['user.name']),
  details: event['orderpass.details'],
  hash: String(event['event.hash']),
});

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
