/**
 * Withholds events that the owner of an endpoint may not read any more: the client was disabled or quarantined, lost the
 * tenant or the read scope of the kind, or API access was switched off. The endpoint itself stays as it is. When the
 * right is back, later events are sent again, and a redelivery sends those between.
 *
 * The look of every worker reads twice a second whether rights have changed (`deliver/worker-polls.ts`). Then the worker reads
 * the endpoints of clients that have changed. What it has read counts at once for attempts that wait in this worker for a
 * slot. Then it stores the kinds, from which on no delivery of them is made, and cancels the unfinished ones.
 */
import type { Kysely, RawBuilder } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Poll } from '#src/platform/wake.ts';
import { lockEntityQueues, releaseNext } from '../queue/entity-queue-store.ts';
import { cancelInTurn } from './cancel-in-turn.ts';
import { cancelPiece } from './cancel-store.ts';
import { digestKind } from './digest.ts';
import {
  beginWithholding,
  endWithholding,
  findWithheld,
  listOwned,
  listWithholding,
  type OwnedEndpoint,
  saveWithheld,
  type WithheldChange,
  type Withholding,
} from './withheld-store.ts';

type Clients = readonly string[] | 'all';

export type OwnerRights = {
  /** Every kind that an endpoint may subscribe to. */
  kinds: readonly string[];
  /**
   * `version`: another text after every change of a right. `changed`: the clients whose rights may have changed since an
   * earlier version; `all`: any of them, as without such a version.
   */
  changesSince(version: string | undefined): Promise<{ version: string; changed: Clients }>;
  /** A text that differs after every change of a right, for a statement that reads other things too. Default: none. */
  version?: RawBuilder<string>;
  /** The kinds that each client may read of its tenant, in the given sequence; undefined for an owner that is no client. */
  kindsOf(owners: readonly { tenant: string; clientId: string }[]): Promise<readonly (readonly string[] | undefined)[]>;
};

type WithholdDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  rights: OwnerRights;
  /** End the waits for changed rights, and for endpoints with something to cancel. */
  polls: { rights: Poll; withhold: Poll };
};

export type WithholdKinds = {
  /** Reads and stores the rights, and cancels what is withheld. Two services: a long backlog must not delay the reading. */
  services: Service[];
  /** False until the rights were read for the first time. Until then nothing may be sent. */
  isKnown(): boolean;
  /** True when the event must not be sent to the endpoint. */
  isWithheld(delivery: { endpointUid: string; kind: string }): boolean;
};

/** chosen: a request that was accepted before the change may make an endpoint after the first check. */
const againMs = 10_000;
/** chosen: for changes of endpoints by others than their owners. */
const everyMs = 60_000;
/** chosen: clients that are read again by themselves; with more, all are. */
const againMax = 1_000;
/** chosen: endpoints of one query, so that no query is long. */
const pageMax = 1_000;
/** chosen: endpoints of one transaction, because the dispatcher waits for their locks. */
const savedMax = 100;
/** chosen: deliveries in one transaction, so that it stays short. */
const pieceMax = 500;

export const createWithholdKinds = (deps: WithholdDeps): WithholdKinds => {
  const { db, clock, rights, polls } = deps;
  let withheldOf: Map<string, readonly string[]> = new Map();
  let isKnown = false;
  /** Endpoints with a withheld delivery that is pending all the same. */
  const met = new Set<string>();
  let seen: string | undefined;
  /** When all clients are read again. */
  let nextMs = 0;
  /** client -> when it is read again. */
  const again = new Map<string, number>();
  const readAgain = (clients: Clients): void => {
    const dueMs = performance.now() + againMs;
    if (clients !== 'all') for (const client of clients) again.set(client, dueMs);
    if (clients !== 'all' && again.size <= againMax) return;
    nextMs = Math.min(nextMs, dueMs);
    again.clear();
  };
  const check = async (signal: AbortSignal): Promise<void> => {
    const { version, changed } = await rights.changesSince(seen);
    const nowMs = performance.now();
    const isAllDue = changed === 'all' || nowMs >= nextMs;
    const due = [...again].filter(([, dueMs]) => dueMs <= nowMs).map(([client]) => client);
    const clients = isAllDue ? 'all' : [...new Set([...changed, ...due])];
    if (clients.length > 0) {
      const read = await readWithheld(deps, signal, clients, withheldOf);
      if (signal.aborted) return;
      if (clients === 'all') {
        // Without endpoints that exist no more.
        withheldOf = read.withheldOf;
        isKnown = true;
      }
      if (!(await saveAll(deps, read.changes, signal))) return polls.rights.now();
      if (clients === 'all') nextMs = nowMs + everyMs;
    }
    seen = version;
    for (const client of due) again.delete(client);
    readAgain(changed);
  };
  const cancelling = {
    list: (after: string, limit: number) => listWithholding(db, after, limit),
    cancelSome: (one: Withholding) => cancelSome(deps, one),
  };
  const repeat = async (poll: Poll, signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
    const wait = poll.begin(signal);
    while (!signal.aborted) {
      await work();
      await wait();
    }
  };
  return {
    isKnown: () => isKnown,
    isWithheld: ({ endpointUid, kind }) => {
      if (withheldOf.get(endpointUid)?.includes(kind) !== true) return false;
      met.add(endpointUid);
      polls.withhold.now();
      return true;
    },
    services: [
      { name: 'webhook-rights', run: (signal) => repeat(polls.rights, signal, () => check(signal)) },
      {
        name: 'webhook-withhold',
        run: (signal) =>
          repeat(polls.withhold, signal, async () => {
            const uids = [...met];
            if (uids.length > 0) await inTransaction(db, (tx) => beginWithholding(tx, uids, clock.now()));
            for (const uid of uids) met.delete(uid);
            await cancelInTurn(cancelling, signal);
          }),
      },
    ],
  };
};

type Read = { withheldOf: Map<string, readonly string[]>; changes: WithheldChange[] };

/** Writes each page into `known` too, where it counts at once. */
const readWithheld = async (
  { db, rights }: WithholdDeps,
  signal: AbortSignal,
  clients: Clients,
  known: Map<string, readonly string[]>,
): Promise<Read> => {
  const read: Read = { withheldOf: new Map(), changes: [] };
  let after = '';
  while (!signal.aborted) {
    const page = await listOwned(db, clients, after, pageMax);
    const allowed = await rights.kindsOf(page);
    for (const [index, endpoint] of page.entries()) {
      const withheld = withheldFrom(endpoint, rights.kinds, allowed[index]);
      if (withheld.length > 0) read.withheldOf.set(endpoint.uid, withheld);
      if (withheld.length > 0) known.set(endpoint.uid, withheld);
      else known.delete(endpoint.uid);
      const { uid, withheldKinds: before } = endpoint;
      if (withheld.join() !== before.join()) read.changes.push({ uid, before, withheld });
    }
    after = page.at(-1)?.uid ?? after;
    if (page.length < pageMax) break;
  }
  return read;
};

/** Also kinds to which the endpoint does not subscribe any more: some of their deliveries may be unfinished. */
const withheldFrom = (
  endpoint: OwnedEndpoint,
  kinds: readonly string[],
  allowed: readonly string[] | undefined,
): readonly string[] => {
  if (allowed === undefined) return [];
  const withheld = kinds.filter((kind) => !allowed.includes(kind));
  // A digest is about all kinds of the endpoint, and is withheld with the last of them.
  return endpoint.kinds.some((kind) => allowed.includes(kind)) ? withheld : [...withheld, digestKind];
};

/** Returns false when an endpoint has changed meanwhile, so that everything has to be read again. */
const saveAll = async (
  { db, clock }: WithholdDeps,
  changes: readonly WithheldChange[],
  signal: AbortSignal,
): Promise<boolean> => {
  let saved = 0;
  for (let first = 0; first < changes.length && !signal.aborted; first += savedMax) {
    const some = changes.slice(first, first + savedMax);
    saved += await inTransaction(db, (tx) => saveWithheld(tx, some, clock.now()));
  }
  return saved === changes.length;
};

/** Returns true when more may be left. */
const cancelSome = ({ db, clock }: WithholdDeps, one: Withholding): Promise<boolean> =>
  inTransaction(db, async (tx) => {
    const now = clock.now();
    const piece = await findWithheld(tx, one, now, pieceMax);
    if (piece.length === 0) {
      await endWithholding(tx, one);
      return false;
    }
    await lockEntityQueues(tx, piece);
    await cancelPiece(tx, piece, now);
    // The right may be back: deliveries that were made since then must not wait behind cancelled ones.
    await releaseNext(tx, piece, now);
    return true;
  });
