/** Wires the feature `staff`: its events go into the gateway's audit, and its links point to pages of the panel. */
import { type AuditAction, appendChange } from '#src/gateway/index.ts';
import { linkPath, providerReturnPath } from '#src/panel/config.ts';
import { createMailer, createStaff, createUsers, type RecordEvents, type Staff, type Users } from '#src/staff/index.ts';
import { makeSecret } from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import type { LiveSecrets } from '../settings/live-secrets.ts';
import { publicOriginOf } from '../settings/tls-files.ts';

/** `origin`: public origin of the server. */
export const startStaff = (
  installation: Installation,
  settings: Settings,
  origin: string,
  secrets: Pick<LiveSecrets, 'read'>,
  noticeUrlProblem: (url: string) => Promise<string | undefined>,
): Staff => {
  const { store, box, clock, log } = installation;
  return createStaff({
    db: store.db,
    box,
    clock,
    log,
    record: recordEvents(installation),
    settings: settings.panel,
    noticeUrls: { problemOf: noticeUrlProblem, makeSecret },
    mailer: createMailer(settings.mail, log),
    readProviderSecret: () => secrets.read('panel.oidc_client_secret'),
    linkAddress: `${origin}${linkPath}`,
    returnAddress: `${origin}${providerReturnPath}`,
  });
};

/** For the command line. */
export const usersOf = (installation: Installation, settings: Settings): Users => {
  const { store, box, clock } = installation;
  const origin = publicOriginOf(settings);
  const record = recordEvents(installation);
  return createUsers({ db: store.db, box, clock, record, linkAddress: `${origin}${linkPath}` });
};

const recordEvents =
  ({ box }: Installation): RecordEvents =>
  (tx, now, ...events) =>
    appendChange(
      tx,
      box,
      now,
      ...events.map(({ action, outcome, actor, address, reason, tenants, clientId, details }) => ({
        action: action satisfies AuditAction,
        outcome,
        actor: actor ?? null,
        address: address ?? null,
        reason: reason ?? null,
        tenants: tenants ?? [],
        ...(clientId !== undefined && { client_id: clientId }),
        details: JSON.stringify(details ?? {}),
      })),
    );
