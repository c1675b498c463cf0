/** The roles whose users need a second factor: one-time codes, or a passkey. */
import { type Kysely, sql } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { RecordEvents } from '../accounts/account-events.ts';
import { isRole, type Role } from '../accounts/role.ts';

type FactorPolicyDeps = { db: Kysely<unknown>; clock: Clock; record: RecordEvents };

export const createFactorPolicy = ({ db, clock, record }: FactorPolicyDeps) => ({
  read: (): Promise<Role[]> => readRoles(db),
  /** Holds from the next request of each user. */
  set: (actor: string, given: readonly string[]): Promise<void> =>
    inTransaction(db, async (tx) => {
      // Of two changes at the same time the second one replaces all of the first one.
      await sql`lock table panel.second_factor_roles in exclusive mode`.execute(tx);
      const roles = [...new Set(given.filter(isRole))].sort();
      const before = await readRoles(tx);
      if (before.join() === roles.join()) return;
      await sql`delete from panel.second_factor_roles`.execute(tx);
      await sql`insert into panel.second_factor_roles (role) select unnest(${roles}::text[])`.execute(tx);
      await record(tx, clock.now(), {
        action: 'user.factor_policy_changed',
        outcome: 'success',
        actor,
        details: { from: before, to: roles },
      });
    }),
});

const readRoles = async (db: Kysely<unknown>): Promise<Role[]> => {
  const { rows } = await sql<{ role: string }>`select role from panel.second_factor_roles order by role`.execute(db);
  return rows.map(({ role }) => role).filter(isRole);
};
