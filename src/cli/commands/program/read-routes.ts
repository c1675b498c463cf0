/** Commands that read the route table: all routes, its problems, and the route of one request. */
import type { Command } from 'commander';
import type { currentRoutes, explainCurrentRoute } from '#src/app/settings/route-documents.ts';
import { processSettingsSource } from '#src/app/settings/settings-source.ts';
import { configFileOf } from '../../terminal/command-settings.ts';
import { type Output, UsageError } from '../../terminal/output.ts';

type CurrentRoute = ReturnType<typeof currentRoutes>[number];

const sourceOf = (command: Command) => processSettingsSource(configFileOf(command));

const loadDocuments = () => import('#src/app/settings/route-documents.ts');

export const readRoutesCommands = (group: Command, output: Output): void => {
  group
    .command('list')
    .description('every route with its methods, path, scopes and upstream')
    .action(async (_options: unknown, command: Command) => {
      const { currentRoutes } = await loadDocuments();
      const byId = Map.groupBy(currentRoutes(sourceOf(command)), ({ id }) => id);
      output.list('routes', [...byId.values()].map(summaryOf));
    });
  group
    .command('check')
    .description('name every problem of the route table with its path')
    .action(async (_options: unknown, command: Command) => {
      const { currentRouteProblems } = await loadDocuments();
      const { file, problems } = currentRouteProblems(sourceOf(command));
      if (problems.length > 0) output.fail();
      if (output.json) return output.result({ file, valid: problems.length === 0, problems });
      for (const problem of problems) output.error(`${file}: ${problem}`);
      if (problems.length === 0) output.line(`${file}: valid`);
    });
  group
    .command('explain')
    .description(
      'say which route a request would meet, why no other, and which addresses behind it work at the moment; exit code 1 when no route answers',
    )
    .argument('<method>', 'such as GET')
    .argument('<url>', 'path and query as they are sent, or a whole URL, whose host counts')
    .option('--host <host>', 'the Host field of the request')
    .action(async (method: string, url: string, options: { host?: string }, command: Command) => {
      const { target, host } = requestOf(url);
      const asked = { method: method.toUpperCase(), target, host: options.host ?? host };
      const { explainCurrentRoute } = await loadDocuments();
      showExplained(await explainCurrentRoute(sourceOf(command), asked), asked, output);
    });
};

const summaryOf = (routes: readonly CurrentRoute[]) => {
  const [first] = routes;
  if (first === undefined) throw new Error('a route has a method');
  const { id, path, hosts, access, upstream } = first;
  const methods = first.anyMethod ? ['*'] : routes.map(({ method }) => method);
  const scopes = [...new Set(routes.flatMap((route) => route.scopes))];
  return { id, methods, path, hosts: hosts ?? null, access, scopes, any_of: first.anyOf, upstream };
};

/** The path is not resolved or decoded, since the gateway compares it as it is sent. */
const requestOf = (url: string): { target: string; host: string | undefined } => {
  const whole = /^https?:\/\/([^/?#]+)(.*)$/i.exec(url);
  const target = whole === null ? url : whole[2] || '/';
  if (!target.startsWith('/') || /[\s#]/.test(target))
    throw new UsageError(
      'The URL is a path that begins with /, or begins with http:// or https://, without a fragment',
    );
  return { target, host: whole?.[1] };
};

const showExplained = (
  {
    ownPath,
    route,
    units,
    upstreamTarget,
    allow,
    cors,
    preflights,
    others,
    cells,
    addresses,
    isOfDemo,
  }: Awaited<ReturnType<typeof explainCurrentRoute>>,
  { method, target }: { method: string; target: string },
  output: Output,
) => {
  const answers = route !== undefined && upstreamTarget !== undefined;
  if (!answers) output.fail();
  const isOptions = method === 'OPTIONS' && allow !== undefined;
  const status = answers || ownPath !== undefined ? null : allow === undefined ? 404 : isOptions ? 204 : 405;
  const leadsToDocs =
    status === 404 && route === undefined && /^\/(?:\?|$)/.test(target) && (method === 'GET' || method === 'HEAD');
  const members = {
    route: route?.id ?? null,
    ...(ownPath !== undefined && { answered_by: `the gateway itself, as everything at ${ownPath}` }),
    ...(isOptions && { answered_by: 'the gateway itself, since no route at this path names OPTIONS' }),
    ...(status !== null && { status, ...(allow !== undefined && { allow }) }),
    ...(isOfDemo && { with_demo: 'answered by the demo and by no route, if the store has the demo' }),
    ...(leadsToDocs && { for_browsers: '302 to /docs' }),
    ...(route !== undefined && { ...decisionOf(route), units, cors: corsOf(cors) }),
    ...(preflights !== undefined && {
      preflights: Object.fromEntries(Object.entries(preflights).map(([asked, one]) => [asked, corsOf(one)])),
    }),
    upstream_target: upstreamTarget ?? null,
    ...(route !== undefined && { ...(cells !== undefined && { cells }), addresses }),
  };
  const not = others.map((other) => ({ id: other.route.id, path: other.route.path, reason: other.reason }));
  if (output.json) return output.result({ ...members, others: not });
  output.result(members);
  for (const { id, path, reason } of not) output.line(`not ${id} (${path}): ${reason}`);
};

const decisionOf = (route: CurrentRoute) => ({
  path: route.path,
  hosts: route.hosts ?? null,
  access: route.access,
  scopes: route.scopes,
  any_of: route.anyOf,
  kinds: route.kinds,
  class: route.class,
  limits: limitsOf(route),
  body: route.body,
  body_bytes_max: route.bodyBytesMax,
  upstream: route.upstream,
  deprecation: route.deprecation ?? null,
});

const corsOf = (cors: Awaited<ReturnType<typeof explainCurrentRoute>>['cors']) =>
  cors === undefined ? null : { set_by: cors.setBy, origins: cors.origins };

/** Beside the limits of the caller for all routes. */
const limitsOf = ({ limits, tenant, tenantLimits }: CurrentRoute) => ({
  caller_on_route: { per_minute: limits?.perMinute ?? null, burst: limits?.burst ?? null },
  tenant: { per_minute: tenantLimits?.perMinute ?? null, burst: tenantLimits?.burst ?? null, named_by: tenant ?? null },
});
