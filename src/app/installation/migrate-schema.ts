/** The schema of the store for `migrate`. The keys of the installation are not needed, so the role that owns it never gets them. */
import { hasCluster } from '#src/platform/db/embedded/home.ts';
import { assertNotRestoring } from '#src/platform/db/embedded/restore-cluster.ts';
import type { Store } from '#src/platform/db/index.ts';
import { GrantError, planGrants } from '#src/platform/db/schema/grants.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { type Migration, readPending, titleOf } from '#src/platform/db/schema/pending.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Settings } from '../settings/config.ts';
import { allMigrations } from './migrations.ts';
import { assertSessions, nameConnection, openOwnStore } from './own-store.ts';

export type SchemaPlan = { pending: { migration: string; sql: string }[]; grants: string[] };

/** What `migrateSchema` would run; changes nothing. GrantError for a role that cannot be granted the rights. */
export const planSchema = async (settings: Settings, log: Logger, role: string | undefined): Promise<SchemaPlan> => {
  refuseRoleOfEmbedded(settings, role);
  if (settings.database_url === undefined) assertNotRestoring(settings.data_dir);
  // To open an embedded store that was never started would make it.
  if (settings.database_url === undefined && !hasCluster(settings.data_dir)) return toPlan(allMigrations, []);
  return withSessions(settings, log, async (pool) =>
    toPlan(
      await readPending(pool, allMigrations),
      role === undefined ? [] : await planGrants(pool, allMigrations, role),
    ),
  );
};

/** Applies what is missing; then the role, if any, has the rights of `planGrants`. Returns what was applied. */
export const migrateSchema = async (settings: Settings, log: Logger, role: string | undefined): Promise<SchemaPlan> => {
  refuseRoleOfEmbedded(settings, role);
  return withSessions(settings, log, async (pool) => {
    // A role that cannot be granted the rights is refused before anything is changed.
    if (role !== undefined) await planGrants(pool, allMigrations, role);
    const applied = await migrate(pool, allMigrations, { log });
    const grants = role === undefined ? [] : await planGrants(pool, allMigrations, role);
    if (grants.length > 0) await pool.query(grants.join(';\n'));
    return toPlan(applied, grants);
  });
};

const refuseRoleOfEmbedded = (settings: Settings, role: string | undefined): void => {
  if (settings.database_url === undefined && role !== undefined)
    throw new GrantError(`DATABASE_URL is missing: the embedded store has one role, so there is no role ${role} in it`);
};

const toPlan = (pending: readonly Migration[], grants: string[]): SchemaPlan => ({
  pending: pending.map((migration) => ({ migration: titleOf(migration), sql: migration.sql })),
  grants,
});

const withSessions = async <T>(
  settings: Settings,
  log: Logger,
  run: (sessions: Store['sessions']) => Promise<T>,
): Promise<T> => {
  const store = await openOwnStore(settings, log, { exclusive: false });
  try {
    await assertSessions(settings, store);
    return await run(store.sessions);
  } catch (error) {
    throw nameConnection(settings, error);
  } finally {
    await store.close();
  }
};
