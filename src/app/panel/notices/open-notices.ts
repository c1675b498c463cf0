/** Notices to users of the panel: decided and sent by a worker. */
import type { Service } from '#src/platform/supervisor.ts';
import { createMailer, createNotices } from '#src/staff/index.ts';
import { createGuardedPost, signV1 } from '#src/webhooks/index.ts';
import type { Installation } from '../../installation/installation.ts';
import type { Settings } from '../../settings/config.ts';
import { publicOriginOf } from '../../settings/tls-files.ts';
import { targetRules } from '../../webhooks/wire-engine.ts';
import { createNoticeSources } from './notice-sources.ts';

export const openNotices = (
  { store, box, clock, log }: Installation,
  settings: Settings,
  ownOrigins: readonly string[],
): { service: Service; close: () => Promise<void> } => {
  const { send, close } = createGuardedPost(targetRules(settings, ownOrigins));
  const { service } = createNotices({
    db: store.background,
    ...{ box, clock, log },
    mailer: createMailer(settings.mail, log),
    post: async (...args) => (await send(...args)).failure === null,
    sign: signV1,
    sources: createNoticeSources(store),
    origin: publicOriginOf(settings),
  });
  return { service, close };
};
