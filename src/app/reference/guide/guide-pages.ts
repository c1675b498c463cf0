/**
 * The order of the guide: areas, their groups, and the pages of each group by the end of their address. A page that no group names
 * is shown at the end of its area, so a new Markdown file needs no entry.
 */
import type { DocumentSource } from './content/document-pages.ts';
import type { Area } from './content/guide-page.ts';

type PageGroup = { title: string; pages: readonly string[] };

export type AreaOrder = {
  area: Area;
  title: string;
  /** What the area is for. */
  text: string;
  groups: readonly PageGroup[];
};

export const guideTitle = 'Orderpass';

export const guideSummary =
  'The guide to Orderpass: an OAuth 2.0 gateway, an ordering core and a webhook engine for restaurants.';

export const areaOrder: readonly AreaOrder[] = [
  {
    area: 'integrate',
    title: 'Integrate',
    text: 'Connect a till, a shop or a delivery service: tokens, orders, menus, customers and webhooks.',
    groups: [
      { title: 'First steps', pages: ['start', 'authentication', 'workload-login', 'faq'] },
      { title: 'Resources', pages: ['orders', 'menu-import', 'customers'] },
      { title: 'Events', pages: ['webhooks', 'events'] },
      { title: 'Tools', pages: ['clients', 'sandbox', 'mcp'] },
      { title: 'Rules of every request', pages: ['errors', 'idempotency', 'pagination', 'limits', 'security'] },
      { title: 'Changes', pages: ['versions', 'changelog'] },
    ],
  },
  {
    area: 'operate',
    title: 'Operate',
    text: 'Run it: install, settings, routes, deployment, backup, updates, metrics and commands.',
    groups: [
      {
        title: 'Begin',
        pages: [
          'operate',
          'operate/install',
          'operate/processes',
          'operate/deployment',
          'operate/settings',
          'operate/commands',
        ],
      },
      {
        title: 'Routes and services',
        pages: ['operate/routes', 'operate/services', 'operate/auth-check', 'callers', 'cells'],
      },
      {
        title: 'Store',
        pages: [
          'operate/backup',
          'operate/update',
          'operate/move',
          'operate/database-roles',
          'operate/pgbouncer',
          'operate/database-hosts',
        ],
      },
      { title: 'Watch', pages: ['operate/probes', 'operate/metrics', 'operate/traces', 'operate/log'] },
    ],
  },
  {
    area: 'secure',
    title: 'Secure',
    text: 'Check it: how access is decided, what is recorded, and which secrets exist.',
    groups: [
      { title: 'Overview', pages: ['secure', 'secure/threat-model', 'secure/leaks'] },
      {
        title: 'Access',
        pages: ['secure/gateway', 'secure/credentials', 'secure/fapi2', 'secure/panel', 'secure/accounts'],
      },
      {
        title: 'Evidence and keys',
        pages: [
          'secure/audit',
          'secure/audit-checkpoints',
          'secure/signals',
          'secure/signals-conformance',
          'secure/installation',
        ],
      },
    ],
  },
];

/** Documents beside the code that the guide shows. */
export const documentSources: readonly DocumentSource[] = [
  {
    file: 'config/README.md',
    area: 'operate',
    path: '/docs/operate',
    isSplit: true,
    names: {
      'Two gateways in front of your own services': 'two-gateways',
      'Two roles of the database': 'database-roles',
      'Backup and restore': 'backup',
      'Move to a database server': 'move',
      'Several database hosts': 'database-hosts',
      'Secrets and the master key': 'secrets',
      'In front of your own services': 'services',
      '`/auth/check`: when another proxy carries the traffic': 'auth-check',
      'Several processes': 'several-processes',
      'Probes and stops': 'probes',
    },
  },
  { file: 'config/deployment.md', area: 'operate', path: '/docs/operate/deployment' },
  { file: 'src/cli/README.md', area: 'operate', path: '/docs/operate/commands', title: 'Commands' },
  {
    file: 'src/webhooks/README.md',
    area: 'operate',
    path: '/docs/operate/webhook-engine',
    title: 'The webhook engine',
  },
  { file: 'src/ordering/README.md', area: 'operate', path: '/docs/operate/ordering-core', title: 'The ordering core' },
  { file: 'src/platform/README.md', area: 'operate', path: '/docs/operate/platform', title: 'Database and platform' },
  { file: 'src/gateway/README.md', area: 'secure', path: '/docs/secure/gateway' },
  { file: 'src/gateway/credentials/README.md', area: 'secure', path: '/docs/secure/credentials' },
  { file: 'src/gateway/audit/README.md', area: 'secure', path: '/docs/secure/audit' },
  { file: 'src/gateway/audit/signals/README.md', area: 'secure', path: '/docs/secure/signals' },
  { file: 'src/panel/README.md', area: 'secure', path: '/docs/secure/panel' },
  { file: 'src/staff/README.md', area: 'secure', path: '/docs/secure/accounts', title: 'Accounts of the panel' },
  {
    file: 'src/app/installation/README.md',
    area: 'secure',
    path: '/docs/secure/installation',
    title: 'Root and master key',
  },
];
