/** The roles that need a second factor, in PostgreSQL. */
import { type Kysely, sql } from 'kysely';
import { isRole, type Role } from '../accounts/role.ts';

export const readRequiredRoles = async (db: Kysely<unknown>): Promise<Role[]> => {
  const { rows } = await sql<{ role: string }>`select role from panel.second_factor_roles order by role`.execute(db);
  return rows.map(({ role }) => role).filter(isRole);
};

/** Replaces all roles, and returns those before. Of two changes at the same time the second one replaces the first one. */
export const replaceRequiredRoles = async (tx: Kysely<unknown>, roles: readonly Role[]): Promise<Role[]> => {
  await sql`lock table panel.second_factor_roles in exclusive mode`.execute(tx);
  const before = await readRequiredRoles(tx);
  await sql`delete from panel.second_factor_roles`.execute(tx);
  await sql`insert into panel.second_factor_roles (role) select unnest(${roles}::text[])`.execute(tx);
  return before;
};
