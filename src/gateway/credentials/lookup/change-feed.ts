/**
 * Pure: decides whether the changes that were read lead without a gap from a known state to the state that was read. Only
 * then they name everything that has changed.
 *
 * Each change has the number after that of the change before, and carries its mark. So a gap shows, and so does another
 * history of the store: a snapshot restored, a failover that lost the last change, a change by a release that adds no row,
 * or more changes than the feed holds.
 */
import { type CredentialState, type EpochReading, type FedChange, isSameState } from './epoch-store.ts';

/** The changes after `known`; undefined: there may have been others. */
export const changesSince = (
  known: CredentialState | undefined,
  reading: EpochReading,
): readonly FedChange[] | undefined => {
  if (known === undefined || known.store !== reading.store) return undefined;
  // The reading may have been asked for with an earlier number.
  const changes = reading.changes.filter(({ epoch }) => epoch > known.epoch);
  let last: { epoch: number; mark: string } = known;
  for (const change of changes) {
    if (change.epoch !== last.epoch + 1 || change.markBefore !== last.mark) return undefined;
    last = change;
  }
  return isSameState(last, reading.credentials) ? changes : undefined;
};

/** Ids of what the changes name. */
export const credentialsOf = (changes: readonly FedChange[]): ReadonlySet<string> | 'all' => {
  const ids = new Set<string>();
  for (const { credentials } of changes) {
    if (credentials === 'all') return 'all';
    for (const id of credentials) ids.add(id);
  }
  return ids;
};
