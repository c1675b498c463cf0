/** The internal listener: the core with its import process where the role runs it, /metrics and the probes in every role. */
import { assertionKeyLabel } from '#src/contract/assertion.ts';
import { createOrdering } from '#src/ordering/index.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import type { Context } from './context.ts';
import { createImportProcess, type ImportProcess } from './import-process/forward-imports.ts';
import { orderingDeps } from './installation/ordering-deps.ts';
import { areStatementsPrepared } from './installation/own-store.ts';
import { createInternalHandler, createInternalServer, type Listener, listen } from './listeners/listeners.ts';
import { orderingAudience } from './settings/ordering-audience.ts';
import { runsGateway, runsOrdering } from './settings/role-parts.ts';
import { targetRules, webhookApiOf } from './webhooks/wire-engine.ts';

/** Gateways use most of their connections to the core within this time. */
const coreDrainMs = 500;

type Internal = {
  listener: Listener;
  /** Where the gateway of this process reaches the core; undefined: the role has no core. */
  core: Listener | undefined;
};

export const startInternal = async (context: Context): Promise<Internal> => {
  const { settings, installation, metrics, traces, secrets, certificates, closers, probes, drain } = context;
  const { grace_ms: graceMs } = settings;
  const operations = runsOrdering(settings) ? coreOperations(context) : [];
  const imports = runsOrdering(settings) ? openImportProcess(context) : undefined;
  const telemetry = { metrics, traces, readToken: () => secrets.read('metrics_token'), probes };
  const handler = createInternalHandler(installation, operations, telemetry, {
    connections: context.coreConnections,
    ...(imports && { serveLongWork: imports.serve }),
  });
  const server = createInternalServer(handler, certificates.createInternalServer);
  // Loopback, or the private network that the operator named: the core trusts assertions, not addresses.
  const listener = await listen(server, settings.internal_host, settings.internal_port);
  drain.onBegin(listener.announceEnd);
  closers.add(() => listener.close(graceMs, coreDrainMs));
  if (!runsOrdering(settings)) return { listener, core: undefined };
  if (certificates.createInternalServer === undefined || !runsGateway(settings)) return { listener, core: listener };
  // The certificate names the host of other processes. The gateway of this one needs no TLS to reach its own core.
  const core = await listen(createInternalServer(handler), '127.0.0.1', 0);
  closers.add(() => core.close(graceMs));
  return { listener, core };
};

/** The operations of the core. `ownOrigins` is filled later, when the public listener is open. */
const coreOperations = ({ settings, installation, secrets, closers, ownOrigins }: Context): Operation[] => {
  const webhooks = webhookApiOf(installation, settings, targetRules(settings, ownOrigins));
  closers.add(() => webhooks.close());
  return [...createOrdering(orderingDeps(settings, installation, secrets)).operations, ...webhooks.operations];
};

const openImportProcess = ({ settings, installation, closers }: Context): ImportProcess => {
  const { store, box, log } = installation;
  const imports = createImportProcess(
    {
      databaseUrl: store.url,
      isPooled: settings.database_direct_url !== undefined,
      prepared: areStatementsPrepared(settings),
      embedded: store.embedded,
      applicationName: `orderpass-${settings.role}-import`,
      logLevel: settings.log_level,
      graceMs: settings.grace_ms,
      assertionKey: box.derive(assertionKeyLabel(orderingAudience)).toString('base64'),
      cursorKey: box.derive('cursor').toString('base64'),
      orderTokenKey: box.derive('order-token').toString('base64'),
      ordering: settings.ordering,
    },
    { log },
  );
  closers.add(() => imports.close());
  return imports;
};
