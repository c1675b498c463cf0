/**
 * Withholds events that the owner of an endpoint may not read any more: the client was disabled or quarantined, lost the
 * tenant or the read scope of the kind, or API access was switched off. The endpoint itself stays as it is. When the
 * right is back, later events are sent again, and a redelivery sends those between.
 *
 * Every worker looks for changed rights twice a second, which costs one small query, and reads the endpoints of clients
 * after a change only. What it found counts at once for attempts that wait in this worker for a slot.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createWake } from '#src/platform/wake.ts';
import { listOwned, type OwnedEndpoint, saveWithheld } from './withheld-store.ts';

export type OwnerRights = {
  /** Another text after every change of a right. */
  version(): Promise<string>;
  /** The kinds that each client may read of its tenant, in the given sequence; undefined for an owner that is no client. */
  kindsOf(owners: readonly { tenant: string; clientId: string }[]): Promise<readonly (readonly string[] | undefined)[]>;
};

type WithholdDeps = { db: Kysely<unknown>; clock: Clock; rights: OwnerRights; onWithheld: () => void };

type WithholdKinds = {
  service: Service;
  /** True when the event must not be sent to the endpoint. */
  isWithheld(delivery: { endpointUid: string; kind: string }): boolean;
};

/** chosen: with it and the time of a check, sending ends within a second of the change. */
const pollMs = 500;
/** chosen: a request that was accepted before the change may make an endpoint after the first check. */
const againMs = 10_000;
/** chosen: for changes of endpoints by others than their owners. */
const everyMs = 60_000;
/** chosen: endpoints of one query, so that no query is long. */
const pageMax = 1_000;

export const createWithholdKinds = (deps: WithholdDeps): WithholdKinds => {
  let withheldOf: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  return {
    isWithheld: ({ endpointUid, kind }) => {
      const withheld = withheldOf.get(endpointUid);
      return withheld !== undefined && (withheld.has(kind) || withheld.has(everything));
    },
    service: {
      name: 'webhook-rights',
      run: async (signal) => {
        const wake = createWake(signal);
        let seen: string | undefined;
        let nextMs = 0;
        while (!signal.aborted) {
          const version = await deps.rights.version();
          const isChanged = version !== seen;
          if (isChanged || performance.now() >= nextMs) {
            const checked = await checkAll(deps, signal);
            withheldOf = checked.withheldOf;
            if (checked.isWhole) seen = version;
            nextMs = performance.now() + (isChanged ? againMs : everyMs);
          }
          await wake.wait(pollMs);
        }
      },
    },
  };
};

/** Stands for every kind, also that of digests. */
const everything = '*';

type Checked = { withheldOf: Map<string, Set<string>>; isWhole: boolean };

const checkAll = async (deps: WithholdDeps, signal: AbortSignal): Promise<Checked> => {
  const checked: Checked = { withheldOf: new Map(), isWhole: true };
  let after = '';
  while (!signal.aborted) {
    const page = await listOwned(deps.db, after, pageMax);
    const allowed = await deps.rights.kindsOf(page);
    for (const [index, endpoint] of page.entries()) await check(deps, endpoint, allowed[index], checked);
    after = page.at(-1)?.uid ?? after;
    if (page.length < pageMax) return checked;
  }
  return { ...checked, isWhole: false };
};

const check = async (
  { db, clock, onWithheld }: WithholdDeps,
  endpoint: OwnedEndpoint,
  allowed: readonly string[] | undefined,
  checked: Checked,
): Promise<void> => {
  const { uid, kinds, withheldKinds } = endpoint;
  const withheld = allowed === undefined ? [] : kinds.filter((kind) => !allowed.includes(kind));
  if (withheld.length > 0) {
    checked.withheldOf.set(uid, new Set(withheld.length === kinds.length ? [...withheld, everything] : withheld));
  }
  if (withheld.join() === withheldKinds.join()) return;
  const isSaved = await inTransaction(db, (tx) => saveWithheld(tx, endpoint, withheld, clock.now()));
  if (!isSaved) checked.isWhole = false;
  else if (withheld.length > 0) onWithheld();
};
