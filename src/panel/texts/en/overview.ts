/** Texts of the start page, of the search and of the choice of restaurants. */

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

export const overview = {
  pages: 'Pages',
  /** `count` stops at `max`. */
  atLeast: (count: number, max: number): string => (count >= max ? `${max}+` : String(count)),
  looked: (count: number, all: number): string =>
    `Only the first ${count} of your ${all} restaurants, by name, were looked at.`,
  lookedNewest: (count: number): string => `Only the newest ${count} restaurants were looked at.`,
  noSandboxes: 'Sandboxes are left out.',
  steps: {
    title: (name: string) => `First steps of ${name}`,
    intro: (done: number, all: number) => `${done} of ${all} are done. This list goes away when all are.`,
    done: 'Done',
    open: 'To do',
    names: {
      key: 'Create an API key, or let support grant an application',
      call: 'Call the API for the first time',
      endpoint: 'Add an endpoint for webhooks',
      event: 'Send the endpoint a test event, and let it confirm its first event',
      order: 'Receive the first order',
    },
  },
  days: {
    title: 'Orders today',
    restaurant: 'Restaurant',
    today: 'Today',
    lastWeek: 'Same time last week',
    none: 'No restaurant belongs to your account. Ask support to add yours.',
    quiet: 'No order came in today. Check that the till sends its orders with a live key.',
    all: 'All restaurants',
  },
  failing: {
    title: 'Endpoints that fail',
    since: 'Fails since',
    disabled: 'Disabled',
    none: 'No endpoint fails. A test event on its page shows whether a receiver answers.',
    show: 'Webhooks',
  },
  ending: {
    title: 'Keys that expire soon',
    ends: 'Expires',
    none: 'No key that still needs a replacement expires within 30 days. Replace a key without an end date once a year.',
    show: 'API keys',
  },
  quarantined: {
    title: 'In quarantine',
    lift: 'Lift it',
    none: 'No key or client is in quarantine. The page of a client has the button for it.',
    show: 'Clients',
  },
  callers: {
    title: 'Clients and keys that fail',
    part: (bad: number, calls: number) => `${bad} of ${calls} requests were refused or failed in the last 2 to 3 hours`,
    none: 'None of the busiest clients and keys of today has many refused requests. Look one up to see all of its requests.',
    show: 'Clients',
  },
  limited: {
    title: 'Near their limits',
    refused: (count: number) => `refused ${times(count)} today by a limit`,
    used: (percent: number, period: 'day' | 'month') =>
      `${percent}% of the units of the ${period === 'day' ? 'day' : 'month'} used`,
    none: 'No client or key used four fifths of its limits today. The page Limits of a client sets them.',
    show: 'Clients',
  },
  refusals: {
    title: 'Newest refusals',
    times,
    helps: 'Who can help:',
    helpers: {
      developer: 'the developer of the program',
      owner: 'the owner of the restaurant',
      support: 'support, by a grant, a scope or a network',
      ownerNetworks: 'the owner of the restaurant, under API keys, Limits',
      newClient: 'support, which creates a new client',
      newSecret: 'support, which makes a new secret',
      quarantine: 'support, which lifts the quarantine',
    },
    none: 'No request of a known client or key was refused lately. A request id finds an older one.',
    show: 'Explain a refusal',
  },
  hours: {
    refused: 'Refused per hour',
    issued: 'Tokens issued per hour',
    span: 'The last 24 hours',
    noneRefused: 'Nothing was refused. The charts show longer times.',
    noneIssued: 'No token was issued. Clients get one at /api/oauth/token.',
    show: 'Charts',
  },
  addresses: {
    title: 'Unusual addresses',
    elsewhere: (count: number) => `called ${times(count)} today from outside its networks`,
    from: 'last from',
    onlyRefused: (count: number) => `refused ${times(count)} in the last 24 hours, with no allowed request`,
    none: 'No address stands out. Limit a key or client to networks, and calls from elsewhere are listed here.',
    show: 'Charts by address',
  },
  integrity: {
    title: 'Last verification of the audit',
    sound: 'Unchanged',
    broken: 'Changed',
    running: 'Running',
    interrupted: 'Interrupted',
    events: (count: number) => (count === 1 ? '1 event' : `${count} events`),
    never: 'The audit was never verified from the panel. Verify it now, and then once a week.',
    show: 'Integrity',
  },
  decisions: {
    title: 'Needs a decision',
    quarantined: 'is in quarantine: look at its events; support makes it active again, or ends it',
    dryRuns: (count: string) =>
      `${count === '1' ? '1 caller' : `${count} callers`} would be refused by scopes that are only tried out`,
    verifyLate: 'The audit was not verified from the panel for a week.',
    broken: 'The audit was changed: find out who could write to the store.',
    none: 'Nothing waits for a decision. New policies are tried out first, and show up here.',
    show: 'Trial scopes',
  },
  short: {
    title: 'In short',
    quarantined: 'In quarantine',
    failing: 'With many refused requests',
    limited: 'Near their limits',
    dryRuns: 'Refused by trial scopes',
    orders: 'Orders today (UTC)',
    show: 'Clients',
  },
  own: {
    requests: 'Requests today (UTC)',
    limited: 'Refused by a limit today',
    refusal: 'Newest refusal',
    noRefusal: (days: number) => `none in ${days} days`,
    endpoints: 'Endpoints that fail',
    show: 'Show the client',
    more: (count: number, all: number) => `The first ${count} of your ${all} API clients are shown.`,
  },
  program: {
    title: 'Running processes',
    version: 'Release',
    release: (version: string) => `This page comes from Orderpass ${version}.`,
    process: 'Process',
    role: 'Role',
    table: 'Route table',
    refused: 'its newest route table was refused',
    none: 'No process is listed yet. A new one appears within ten seconds of its start.',
    older: 'older',
    other: 'not that of this page',
    hint: 'This list is renewed every few seconds.',
    show: 'Operating guide',
  },
  search: {
    title: 'Find anything',
    label: 'Find anything',
    placeholder: 'Find anything: /',
    submit: 'Look up',
    hint: {
      owner:
        'An id of one of your restaurants, keys, endpoints, orders (ord_…), customers, events (evt_…), deliveries (dlv_…) or requests (req_…), the beginning of a customer’s name, email or phone, or a part of the name of a key or of the URL of an endpoint.',
      support:
        'An id of a restaurant, client (opc_…), secret, key, endpoint, order (ord_…), customer, event (evt_…), delivery (dlv_…) or refused request (req_…), words of the name of a restaurant or client, the whole name of a key, the beginning of the URL or host of an endpoint, or the whole email or phone of a customer; of a contact the beginning of the email up to the @.',
      security:
        'An id of a restaurant, client, secret, key or request, words of the name of a restaurant or client, or the whole name of a key. Results lead to the audit.',
      admin:
        'Any id of a restaurant, client, secret, key, endpoint, order, customer, event, delivery, request or user, the beginning of a user’s email, words of the name of a restaurant or client, the whole name of a key, the beginning of the URL or host of an endpoint, or the whole email or phone of a customer.',
    },
    secret:
      'This looks like a key, a secret or a token. It was not searched for: it must not be in an address. If it may have leaked, security can end it on the page “Leaked credential”. Look for its id instead, the part before the second underscore.',
    none: (text: string) =>
      `Nothing that you may see fits “${text}”. Check the id, or type only the beginning of a word.`,
    ofRestaurants:
      'Orders, customers, endpoints, deliveries and events belong to a restaurant. Support, administrators and its owner can open them.',
    searchedPart: (count: number, all: number): string =>
      `Customers, keys, endpoints and requests were searched in ${count} of your ${all} restaurants.`,
    tooMany: 'The first ten are shown. Type more to see others.',
    groups: {
      restaurants: 'Restaurants',
      clients: 'Clients',
      keys: 'API keys',
      endpoints: 'Webhook endpoints',
      customers: 'Customers',
      users: 'Users',
      contacts: 'Contacts',
      requests: 'Requests',
    },
  },
  crumbs: {
    label: 'Where you are',
    restaurants: 'Restaurants',
    other: 'Another restaurant',
    all: 'All restaurants',
  },
};
