/** SQL of the search for users. */
import { type Kysely, sql } from 'kysely';

export type FoundUser = { userId: string; email: string };

/** Emails that are read from the start on: in some collations others lie between those that begin with it. */
const readMax = 50;

/** Users whose email begins with `start`, in lower case, along the unique index of emails. */
export const findUsersByStart = async (db: Kysely<unknown>, start: string, limit: number): Promise<FoundUser[]> => {
  const { rows } = await sql<FoundUser>`
    select id as "userId", email from panel.users where email >= ${start} order by email limit ${readMax}`.execute(db);
  return rows.filter(({ email }) => email.startsWith(start)).slice(0, limit);
};
