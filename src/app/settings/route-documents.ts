/** Route tables and OpenAPI documents, for the command line. Nothing here needs a database. */
import {
  type ExplainedRoute,
  explainRoute,
  exportRoutes,
  importRoutes,
  type Route,
  readRouteTable,
  routesFileOf,
  turnedOnPaths,
  upstreamsBehind,
} from '#src/gateway/config.ts';
import type { ProbedAddress } from '#src/gateway/index.ts';
import { programVersion } from '#src/platform/files/release.ts';
import { lostAudiences, tableProblems } from './check-settings.ts';
import { loadSettings, type Settings, type SettingsSource } from './config.ts';
import { mayHaveDemo, receiverPath } from './demo-path.ts';
import { publicOriginOf } from './tls-files.ts';

export { importRoutes };

const settingsOf = (source: SettingsSource): Settings => loadSettings(source);

/** The current route table as an OpenAPI 3.1 document, and what that cannot say. Throws SettingsError, or the problems of the table. */
export const exportCurrentRoutes = (source: SettingsSource): ReturnType<typeof exportRoutes> => {
  const settings = settingsOf(source);
  return exportRoutes(readRouteTable(routesFileOf(settings.gateway)), publicOriginOf(settings), programVersion);
};

/** One for each method of each route. Throws as exportCurrentRoutes. */
export const currentRoutes = (source: SettingsSource): readonly Route[] =>
  readRouteTable(routesFileOf(settingsOf(source).gateway)).routes;

/** Every problem of the current route table, with its path; none when a start and a reload would accept it. */
export const currentRouteProblems = (source: SettingsSource): { file: string; problems: readonly string[] } => {
  const settings = settingsOf(source);
  const lost = lostAudiences(settings).map(
    (name) => `upstreams: the setting auth_check_audiences needs an address for ${name}`,
  );
  return { file: routesFileOf(settings.gateway), problems: [...tableProblems(settings), ...lost] };
};

type ExplainedNow = ExplainedRoute & {
  /** The demo answers the path, before any route, if the store has it. */
  isOfDemo: boolean;
  /** Name of a cell -> upstream, where the upstream of the route has cells. */
  cells: Readonly<Record<string, string>> | undefined;
  /** Of the upstream, or of those of all its cells. */
  addresses: readonly ProbedAddress[];
};

/** Which of the current routes a request would meet, and whether the addresses of its upstream work at the moment. */
export const explainCurrentRoute = async (
  source: SettingsSource,
  asked: { method: string; target: string; host: string | undefined },
): Promise<ExplainedNow> => {
  const settings = settingsOf(source);
  const { gateway, panel } = settings;
  const table = readRouteTable(routesFileOf(gateway));
  const free = [...(panel.enabled === 'on' ? [] : ['/panel']), ...(gateway.auth_check === 'on' ? [] : ['/auth/check'])];
  const explained = {
    ...explainRoute(table, { ...asked, free, taken: turnedOnPaths(gateway) }),
    isOfDemo: asked.target.startsWith(receiverPath) && mayHaveDemo(settings),
  };
  const { route } = explained;
  if (route === undefined) return { ...explained, cells: undefined, addresses: [] };
  // The gateway takes longer to load than any other command on the table needs.
  const { probeUpstream } = await import('#src/gateway/index.ts');
  const names = new Set(upstreamsBehind(route.upstream, table.upstreams));
  const probed = await Promise.all([...names].map((name) => probeUpstream(name, table, gateway.upstreams, gateway)));
  return { ...explained, cells: table.upstreams[route.upstream]?.cells, addresses: probed.flat() };
};
