/**
 * Groups floods of refusals that share action, reason, source and client: the first hundred of a minute become events
 * of their own, the rest of the minute becomes one event with a count. A flood therefore fills neither the disk nor the
 * search results.
 */
import { minuteMs } from '#src/platform/clock.ts';
import { networkOf } from '../../limits/source-address.ts';
import type { NewAuditEvent } from '../event/event.ts';

export type FloodGrouping = {
  /** True when the event gets an entry of its own. Otherwise it was added to the count. */
  isListed(event: NewAuditEvent): boolean;
  /** Takes the counted events of minutes that have ended, or of all minutes. */
  take(all: boolean): NewAuditEvent[];
};

const listedMax = 100;
const keysMax = 10_000;

type Group = { event: NewAuditEvent; seen: number; counted: number };

export const createFloodGrouping = (elapsedMs: () => number): FloodGrouping => {
  let groups = new Map<string, Group>();
  let endsAtMs = 0;
  let ended: NewAuditEvent[] = [];

  const close = (nowMs: number): void => {
    for (const { event, counted } of groups.values()) {
      if (counted > 0) ended.push({ ...event, request_ids: [], count: counted });
    }
    groups = new Map();
    endsAtMs = nowMs + minuteMs;
  };

  const groupOf = (event: NewAuditEvent): Group => {
    // Ids, tokens and routes differ in every request of a flood, so they are not part of the key.
    // The client of a refused token is only claimed, so a flood may name another one each time.
    const caller = event.action === 'token.refused' ? '' : (event.client_id ?? event.credential_id);
    // A holder of one IPv6 address has the whole network, so a flood may come from another address each time.
    const kind = `${event.action} ${event.reason} ${sourceOf(event.address)} ${caller}`;
    const known = groups.get(kind);
    if (known !== undefined) return known;
    const isFull = groups.size >= keysMax;
    const others = `others ${event.action} ${event.reason}`;
    const ofOthers = isFull ? groups.get(others) : undefined;
    if (ofOthers !== undefined) return ofOthers;
    const group = { event, seen: 0, counted: 0 };
    groups.set(isFull ? others : kind, group);
    return group;
  };

  return {
    isListed: (event) => {
      const nowMs = elapsedMs();
      if (nowMs >= endsAtMs) close(nowMs);
      const group = groupOf(event);
      group.seen += 1;
      if (group.seen <= listedMax) return true;
      group.counted += 1;
      // The counting event holds only what all counted requests have in common.
      group.event = group.counted === 1 ? { ...event, details: '{}' } : commonOf(group.event, event);
      return false;
    },
    take: (all) => {
      const nowMs = elapsedMs();
      if (all || nowMs >= endsAtMs) close(nowMs);
      const taken = ended;
      ended = [];
      return taken;
    },
  };
};

const comparedNames = ['fingerprint', 'token_id', 'route_id', 'credential_id', 'client_id', 'kind'] as const;

const sourceOf = (address: string | null | undefined) => (address && networkOf(address)) ?? address;

const commonOf = (counting: NewAuditEvent, event: NewAuditEvent): NewAuditEvent => {
  const common: NewAuditEvent = { ...counting };
  for (const name of comparedNames) if (counting[name] !== event[name]) common[name] = null;
  if (counting.address !== event.address)
    common.address = sourceOf(counting.address) === sourceOf(event.address) ? (sourceOf(event.address) ?? null) : null;
  if (counting.route_id !== event.route_id) common.scopes = [];
  if (counting.tenants !== event.tenants && String(counting.tenants) !== String(event.tenants)) common.tenants = [];
  return common;
};
