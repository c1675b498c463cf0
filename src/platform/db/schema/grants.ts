/**
 * The rights of a role that reads and writes rows and never changes the schema. What later migrations and the functions of
 * the owner make gets the same rights by default privileges, in which PostgreSQL also keeps which roles have them.
 */
import pg from 'pg';
import type { Migration } from './pending.ts';

type Client = Pick<pg.ClientBase, 'query'>;

/** Only migrations write these. */
export const readOnlyTables: readonly string[] = [
  'platform.migrations',
  'platform.declared_migrations',
  'platform.weekly_tables',
];

/** Why a role cannot be granted the rights, in words for an operator. */
export class GrantError extends Error {
  override readonly name = 'GrantError';
}

/** The schemas that the migrations make; that of `platform.migrations` is made by the runner. */
export const schemasOf = (migrations: readonly Migration[]): string[] => [
  ...new Set(['platform', ...migrations.flatMap(({ sql }) => [...sql.matchAll(/^create schema (\w+)/gm)].map(nameOf))]),
];

const nameOf = (match: RegExpExecArray): string => match[1] ?? '';

/** Statements that leave the role exactly these rights to the schemas, whatever it had before. */
const grantStatements = (schemas: readonly string[], owner: string, role: string): string[] => {
  const [to, from] = [pg.escapeIdentifier(role), pg.escapeIdentifier(owner)];
  return [
    ...schemas.flatMap((schema) => [
      `revoke all on schema ${schema} from ${to}`,
      `grant usage on schema ${schema} to ${to}`,
      ...(
        [
          ['tables', 'select, insert, update, delete'],
          ['sequences', 'usage, select'],
          ['functions', 'execute'],
        ] as const
      ).flatMap(([kind, rights]) => [
        `revoke all on all ${kind} in schema ${schema} from ${to}`,
        `grant ${rights} on all ${kind} in schema ${schema} to ${to}`,
        `alter default privileges for role ${from} in schema ${schema} revoke all on ${kind} from ${to}`,
        `alter default privileges for role ${from} in schema ${schema} grant ${rights} on ${kind} to ${to}`,
      ]),
    ]),
    `revoke insert, update, delete on ${readOnlyTables.join(', ')} from ${to}`,
  ];
};

type Target = { owner: string; database: string; holds: boolean; isSuper: boolean; lacks: boolean };

/**
 * The statements for a role; the schemas need not exist yet. PostgreSQL runs them as one transaction when they are sent
 * together. GrantError for a role that does not exist, or that has more rights already: those of the owner or of a superuser.
 */
export const planGrants = async (client: Client, migrations: readonly Migration[], role: string): Promise<string[]> => {
  const { rows } = await client.query<Target>(
    `select owner, current_database() as database, rolsuper as "isSuper", pg_has_role(pg_roles.oid, owner, 'member') as holds,
       not (has_database_privilege(pg_roles.oid, current_database(), 'connect')
         and has_database_privilege(pg_roles.oid, current_database(), 'temporary')) as lacks
     from pg_roles, coalesce((select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'platform'), current_user) owner
     where rolname = $1`,
    [role],
  );
  const [target] = rows;
  if (target === undefined)
    throw new GrantError(`there is no role ${role}: make it first, for example by create role ${role} login`);
  if (target.isSuper || target.holds)
    throw new GrantError(
      `the role ${role} ${target.isSuper ? 'is a superuser' : `has the rights of the owner ${target.owner}`}: name a role that cannot change the schema`,
    );
  const onDatabase = `grant connect, temporary on database ${pg.escapeIdentifier(target.database)} to ${pg.escapeIdentifier(role)}`;
  return [...(target.lacks ? [onDatabase] : []), ...grantStatements(schemasOf(migrations), target.owner, role)];
};

/** The default privileges of `grantStatements`, by kind: `r` tables, `S` sequences, `f` functions. */
const defaults = ['S:SELECT', 'S:USAGE', 'f:EXECUTE', 'r:DELETE', 'r:INSERT', 'r:SELECT', 'r:UPDATE'];

/**
 * Grants the rights again to each role that has them, in those of the schemas that exist. A role with other default
 * privileges, for example one that only reads, was not made by `planGrants` and stays as it is. Runs in the transaction of
 * a migration.
 */
export const grantAgain = async (client: Client, schemas: readonly string[]): Promise<void> => {
  const { rows } = await client.query<{ owner: string; role: string; schemas: string[] }>(
    `select owner.rolname as owner, role.rolname as role, (
       select array_agg(nspname::text) from pg_namespace where nspname = any($1::text[])
     ) as schemas
     from pg_default_acl join pg_namespace on pg_namespace.oid = defaclnamespace
     join pg_roles owner on owner.oid = defaclrole
     cross join aclexplode(defaclacl) as granted join pg_roles role on role.oid = granted.grantee
     where nspname = 'platform' and granted.grantee <> defaclrole
     group by owner.rolname, role.rolname
     having array_agg(concat(defaclobjtype, ':', privilege_type) order by concat(defaclobjtype, ':', privilege_type) collate "C")
       = $2::text[]`,
    [schemas, defaults],
  );
  for (const { owner, role, schemas: existing } of rows)
    await client.query(grantStatements(existing, owner, role).join(';\n'));
};
