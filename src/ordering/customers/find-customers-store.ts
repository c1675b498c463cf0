/** SQL of the search for customers in several restaurants at once, for the panel's search for anything. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type FoundCustomer = {
  restuid: string;
  uid: string;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  phone: string | null;
};

/** Restaurants that are looked through: each one is a look into a few indexes. */
const restaurantsMax = 5_000;

/** Customers of one whole first name that are looked through for the last name. */
const namesakesMax = 1_000;

const columns = sql`restuid, uid, first_name as "firstName", last_name as "lastName", email, phone, removed_at`;

/** So that `%` and `_` are no wildcards. */
const patternOf = (start: string): string => `${start.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;

const digitsOf = (text: string): string => (/^[0-9\s()+./-]+$/.test(text) ? text.replaceAll(/[^0-9]/g, '') : '');

/**
 * Customers of the restaurants whose first or last name, email or phone begins with `start`, at most `limit`. Each restaurant is
 * read along the indexes of these starts.
 */
export const findCustomersByStart = async (
  db: Db,
  restuids: readonly string[],
  start: string,
  limit: number,
): Promise<FoundCustomer[]> => {
  const digits = digitsOf(start);
  const [first = '', ...rest] = start.split(/\s+/);
  const begins = (column: 'first_name' | 'last_name' | 'email' | 'phone') => sql`
    (select ${columns} from ordering.customers c
      where c.restuid = asked.id and lower(c.${sql.ref(column)}) like lower(${patternOf(start)}::text)
      order by lower(c.${sql.ref(column)}) using ~<~ limit ${limit})`;
  // With both conditions in one place the planner may read every customer of the last name instead.
  const ranges = [
    ...(['first_name', 'last_name', 'email', 'phone'] as const).map(begins),
    ...(digits === ''
      ? []
      : [
          sql`(select ${columns} from ordering.customers c
            where c.restuid = asked.id and c.phone_digits like ${`${digits}%`}
            order by c.phone_digits using ~<~ limit ${limit})`,
        ]),
    ...(rest.length === 0
      ? []
      : [
          sql`(select * from (
            select ${columns} from ordering.customers c
            where c.restuid = asked.id and lower(c.first_name) = lower(${first}::text) limit ${namesakesMax}
          ) as named where lower("lastName") like lower(${patternOf(rest.join(' '))}::text) limit ${limit})`,
        ]),
  ];
  const { rows } = await sql<FoundCustomer>`
    select distinct restuid, found.uid, "firstName", "lastName", email, phone
    from unnest(${restuids.slice(0, restaurantsMax)}::text[]) as asked (id)
    cross join lateral (${sql.join(ranges, sql` union all `)}) as found
    where found.removed_at is null limit ${limit}`.execute(db);
  return rows;
};

/** Customers of the newest restaurants with exactly this email or phone, at most `limit`. */
export const findCustomersByContact = async (db: Db, contact: string, limit: number): Promise<FoundCustomer[]> => {
  const digits = digitsOf(contact);
  const condition = contact.includes('@')
    ? sql`lower(c.email) = lower(${contact}::text)`
    : sql`c.phone_digits = ${digits}`;
  if (!contact.includes('@') && digits === '') return [];
  const { rows } = await sql<FoundCustomer>`
    select found.restuid, found.uid, "firstName", "lastName", email, phone
    from (select uid from ordering.restaurants order by uid desc limit ${restaurantsMax}) as asked
    cross join lateral (
      select ${columns} from ordering.customers c where c.restuid = asked.uid and ${condition} limit ${limit}
    ) as found
    where found.removed_at is null limit ${limit}`.execute(db);
  return rows;
};
