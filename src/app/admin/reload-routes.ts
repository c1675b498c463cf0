/** The route tables of running gateways. Nothing here reads the file, since it may be the one that gateways refuse. */
import { listSeenTables, type ReloadAnswers, requestReload } from '#src/gateway/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { openInstallation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { actorName } from './actor-name.ts';

/** Has every running gateway read its route table again, and waits for their results. */
export const reloadRoutes = async (settings: Settings, log: Logger, waitMsMax: number): Promise<ReloadAnswers> => {
  const { store } = await openInstallation(settings, log, { exclusive: false });
  try {
    return await requestReload(store.db, actorName(), waitMsMax);
  } finally {
    await store.close();
  }
};

/** What each gateway serves, or served when it was last seen, within a minute. */
export const showServedTables = async (settings: Settings, log: Logger): Promise<ReloadAnswers['gateways']> => {
  const { store } = await openInstallation(settings, log, { exclusive: false });
  try {
    return await listSeenTables(store.db);
  } finally {
    await store.close();
  }
};
