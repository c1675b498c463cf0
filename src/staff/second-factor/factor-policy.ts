/** The roles whose users need a second factor: one-time codes, or a passkey. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import { isRole, type Role } from '../accounts/role.ts';
import { readRequiredRoles, replaceRequiredRoles } from './factor-policy-store.ts';

type FactorPolicyDeps = { db: Kysely<unknown>; clock: Clock; record: RecordEvents };

export const createFactorPolicy = ({ db, clock, record }: FactorPolicyDeps) => ({
  read: (): Promise<Role[]> => readRequiredRoles(db),
  /** Holds from the next request of each user. `check` refuses the change by throwing; it gets the roles of now, under their lock. */
  set: (actor: string, given: readonly string[], check?: (stored: readonly Role[]) => void): Promise<void> =>
    inTransaction(db, async (tx) => {
      const to = [...new Set(given.filter(isRole))].sort();
      const from = await replaceRequiredRoles(tx, to);
      check?.(from);
      if (from.join() === to.join()) return;
      const details = { from, to };
      await record(tx, clock.now(), { action: 'user.factor_policy_changed', outcome: 'success', actor, details });
    }),
});
