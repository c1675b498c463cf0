/**
 * Refusals of one kind from one place in great number: the first hundred of a minute are events of their own, the rest of
 * the minute becomes one event with a count. So whoever knocks without end fills neither the disk nor the sight.
 */
import type { NewAuditEvent } from '../event/event.ts';

export type Crowd = {
  /** Whether the event is one of the first; else it was counted here. */
  isListed(event: NewAuditEvent): boolean;
  /** What was counted, when its minute is over or `all` is asked for. */
  take(all: boolean): NewAuditEvent[];
};

const listedMax = 100;
const minuteMs = 60_000;
const keysMax = 10_000;

type Group = { event: NewAuditEvent; seen: number; counted: number };

export const createCrowd = (elapsedMs: () => number): Crowd => {
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
    // What differs in every request of a flood (ids, tokens, routes) does not make it another one.
    const kind = `${event.action} ${event.reason} ${event.address} ${event.client_id ?? event.credential_id}`;
    const known = groups.get(kind);
    if (known !== undefined) return known;
    const isFull = groups.size >= keysMax;
    const others = isFull ? groups.get('others') : undefined;
    if (others !== undefined) return others;
    const group = { event, seen: 0, counted: 0 };
    groups.set(isFull ? 'others' : kind, group);
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
      // The one event says only what all of them have in common.
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

const named = ['fingerprint', 'token_id', 'route_id', 'credential_id', 'client_id', 'kind', 'address'] as const;

const commonOf = (kept: NewAuditEvent, event: NewAuditEvent): NewAuditEvent => {
  const common: NewAuditEvent = { ...kept };
  for (const name of named) if (kept[name] !== event[name]) common[name] = null;
  if (kept.route_id !== event.route_id) common.scopes = [];
  if (kept.tenants !== event.tenants && String(kept.tenants) !== String(event.tenants)) common.tenants = [];
  return common;
};
