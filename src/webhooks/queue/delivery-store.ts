/** Inserts the deliveries of recorded events. */
import { type Kysely, sql } from 'kysely';
import { bigintArray, booleanArray, textArray } from '#src/platform/db/binary-array.ts';
import type { ClaimedEvent } from '#src/platform/db/outbox/outbox-queue.ts';
import { sentKinds } from '../endpoints/endpoint-store.ts';
import type { DueEndpoint } from './claim-store.ts';

type State = 'version' | 'class' | 'dueAt' | 'paced' | 'gate' | 'recovered' | 'failuresCount' | 'hasHealth';

/** What an endpoint is set to. `kinds`: those that are sent to it. */
export type EndpointSettings = Omit<DueEndpoint, State> & { tenant: string; kinds: string[] };

export type LockedEndpoint = Omit<Pick<DueEndpoint, 'endpointUid' | State>, 'class' | 'dueAt'> & {
  /** Null while the endpoint has had no delivery. */
  class: DueEndpoint['class'] | null;
  dueAt: Date | null;
};

/** An enabled endpoint. */
export type Subscribed = EndpointSettings & LockedEndpoint;

/**
 * The enabled endpoints of the tenants. The lock makes a transaction that disables an endpoint wait until the deliveries
 * exist, so that it cancels them too. An endpoint that is being disabled now is waited for and left out.
 *
 * The version is the transaction that wrote the row. The number of a transaction returns after four billion others.
 */
export const lockSubscribed = async (tx: Kysely<unknown>, tenants: readonly string[]): Promise<LockedEndpoint[]> => {
  const { rows } = await sql<LockedEndpoint>`
    select endpoint.*, turn.class, turn.due_at as "dueAt", turn.paced, turn.gate, turn.recovered,
      coalesce(health.failures_count, 0) as "failuresCount", health.endpoint_uid is not null as "hasHealth"
    from unnest(${textArray(tenants.toSorted())}::text[]) as wanted (tenant) cross join lateral (
      select uid as "endpointUid", xmin::text as version
      from webhooks.endpoints where tenant = wanted.tenant and enabled
      order by tenant, uid for share
    ) as endpoint
    left join webhooks.ready as turn on turn.endpoint_uid = endpoint."endpointUid"
    left join webhooks.endpoint_health as health on health.endpoint_uid = endpoint."endpointUid"`.execute(tx);
  return rows;
};

/** Call with the locks of `lockSubscribed`, without which the settings may belong to a later version. */
export const readSettings = async (
  tx: Kysely<unknown>,
  endpointUids: readonly string[],
): Promise<EndpointSettings[]> => {
  const { rows } = await sql<EndpointSettings>`
    select tenant, uid as "endpointUid", ${sentKinds}, enabled,
      cancel_through is not null or withheld_through is not null as cancelling,
      max_per_second as "maxPerSecond", url, secret, previous_secret as "previousSecret",
      previous_secret_expires as "previousSecretExpires", signature_header as "signatureHeader", signature, v1a, auth
    from webhooks.endpoints where uid = any(${textArray(endpointUids)}::text[])`.execute(tx);
  return rows;
};

export type NewDelivery = {
  /** Begins with the time of its insertion, by which the delivery is found. */
  uid: string;
  endpointUid: string;
  event: ClaimedEvent;
  /** The entity queue has no unfinished delivery: this one is pending, and later ones wait behind it. */
  first: boolean;
  /** Leased when it is inserted, by the fast path. */
  leased: boolean;
};

export type FirstLease = { token: string; until: Date };

type Insertion = {
  lease: FirstLease | undefined;
  unsettled: ReadonlySet<string>;
  areNew: boolean;
  now: Date;
};

/**
 * One delivery for each event and endpoint, however often the event is dispatched: a delivery that exists stays as it is.
 * Returns how many were inserted. With `areNew`, which costs less, a delivery that exists is a unique violation. At `unsettled`
 * endpoints a delivery is leased only if none is due there, by the schedule that the transaction has written.
 */
export const insertDeliveries = async (
  tx: Kysely<unknown>,
  made: readonly NewDelivery[],
  { lease, unsettled, areNew, now }: Insertion,
): Promise<number> => {
  if (made.length === 0) return 0;
  // Columns of the event are repeated for each delivery: a join of two arrays would compare every pair of their rows.
  const texts = (value: (one: NewDelivery) => string): Buffer => textArray(made.map(value));
  const numbers = (value: (one: NewDelivery) => number): Buffer => bigintArray(made.map(value));
  const flags = (value: (one: NewDelivery) => boolean): Buffer => booleanArray(made.map(value));
  const { numAffectedRows } = await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
      next_attempt_at, lease_token, lease_until, created, followed)
    select tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position,
      case when first then 'pending' else 'waiting' end, case when first then ${now}::timestamptz end,
      case when may_start then ${lease?.token ?? null} end,
      case when may_start then ${lease?.until ?? null}::timestamptz end,
      ${now}::timestamptz, not first
    from unnest(${texts(({ event }) => event.tenant)}::text[], ${texts(({ uid }) => uid)}::text[],
      ${texts(({ endpointUid }) => endpointUid)}::text[], ${texts(({ event }) => event.id)}::text[],
      ${texts(({ event }) => event.event)}::text[], ${texts(({ event }) => event.kind)}::text[],
      ${texts(({ event }) => event.entity)}::text[], ${numbers(({ event }) => event.seq)}::bigint[],
      ${numbers(({ event }) => event.position)}::bigint[], ${flags(({ first }) => first)}::boolean[],
      ${flags(({ leased }) => leased)}::boolean[], ${flags(({ endpointUid }) => unsettled.has(endpointUid))}::boolean[])
      as target (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, first, leased, unsettled)
    cross join lateral (
      select leased and (not unsettled or exists (
        select from webhooks.ready as known where known.endpoint_uid = target.endpoint_uid and due_at > ${now}
      )) as may_start offset 0
    ) as way
    ${areNew ? sql`` : sql`on conflict do nothing`}`.execute(tx);
  return Number(numAffectedRows ?? 0n);
};

/** Uids of the deliveries that exist. */
export const insertedOf = async (
  db: Kysely<unknown>,
  made: readonly { uid: string; endpointUid: string; eventId: string }[],
): Promise<Set<string>> => {
  const { rows } = await sql<{ uid: string }>`
    select delivery.uid
    from unnest(${made.map(({ eventId }) => eventId)}::text[], ${made.map(({ endpointUid }) => endpointUid)}::text[],
      ${made.map(({ uid }) => uid)}::text[]) as wanted (event_id, endpoint_uid, uid)
    join webhooks.deliveries as delivery on delivery.event_id = wanted.event_id
      and delivery.endpoint_uid = wanted.endpoint_uid and delivery.uid = wanted.uid`.execute(db);
  return new Set(rows.map(({ uid }) => uid));
};
