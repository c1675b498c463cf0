/** A sentence for every kind of event in the audit. */

/** What the sentences are made of. Names, where the installation knows them; ids otherwise. */
export type EventWords = {
  /** The author, as the beginning of a sentence. */
  who: string;
  /** The client or key that sent a request, or that an event is about. */
  caller: string;
  restaurants: string;
  /** The staff account that an event is about. */
  user: string;
  count: number;
  reason: string | null;
  /** Of a rotation: the reason names an end that is not after the event. */
  endsAtOnce: boolean;
  failed: boolean;
  route: string | null;
  /** A member of the details as text; '' without it. */
  detail: (name: string) => string;
};

type Sentence = (words: EventWords) => string;

const because = ({ reason }: Pick<EventWords, 'reason'>): string => (reason === null ? '' : `: ${reason}`);
const on = ({ route }: Pick<EventWords, 'route'>): string => (route === null ? '' : ` to ${route}`);
const state = ({ detail }: Pick<EventWords, 'detail'>): string =>
  detail('state') === 'quarantined' ? 'quarantined' : 'reactivated';

const sentences = {
  'token.issued': ({ caller, count }) =>
    count === 1 ? `${caller} got an access token.` : `${caller} got ${count} access tokens.`,
  'token.refused': (w) => `${w.caller} was refused at an OAuth endpoint${because(w)}.`,
  'token.revoked': ({ who, caller }) => `${who} revoked an access token of ${caller}.`,
  'token.introspected': ({ caller }) => `${caller} asked whether a token is valid.`,
  'request.allowed': (w) =>
    `${w.caller} sent ${w.count === 1 ? 'a request' : `${w.count} requests`}${on(w)}${w.failed ? `, which failed${because(w)}` : ''}.`,
  'request.denied': (w) =>
    `${w.caller} was refused ${w.count === 1 ? 'a request' : `${w.count} requests`}${on(w)}${because(w)}.`,
  'request.simulated': ({ caller }) => `${caller} asked the sandbox for a fault and got it.`,
  'tenant.created': ({ who, restaurants }) => `${who} created ${restaurants}.`,
  'tenant.changed': ({ who, restaurants, detail }) =>
    detail('api_enabled') === 'true'
      ? `${who} switched on API access to ${restaurants}.`
      : detail('api_enabled') === 'false'
        ? `${who} switched off API access to ${restaurants}.`
        : `${who} changed the settings or data of ${restaurants}.`,
  'tenant.removed': ({ who, restaurants }) => `${who} removed ${restaurants}.`,
  'key.created': ({ who, caller, restaurants }) => `${who} created the API key ${caller} for ${restaurants}.`,
  'key.revoked': (w) => `${w.who} revoked the API key ${w.caller}${because(w)}.`,
  'key.rotated': ({ who, caller, endsAtOnce }) =>
    `${who} rotated the API key ${caller}; the old value ${endsAtOnce ? 'ended at once' : 'still worked for a while'}.`,
  'key.state_changed': (w) => `${w.who} ${state(w)} the API key ${w.caller}${because(w)}.`,
  'key.limits_changed': ({ who, caller }) => `${who} set the limits of the API key ${caller}.`,
  'key.addresses_changed': ({ who, caller }) => `${who} set the addresses that may use the API key ${caller}.`,
  'client.created': ({ who, caller }) => `${who} created the client ${caller}.`,
  'client.disabled': (w) => `${w.who} disabled the client ${w.caller} for good${because(w)}.`,
  'client.state_changed': (w) => `${w.who} ${state(w)} the client ${w.caller}${because(w)}.`,
  'client.scopes_changed': ({ who, caller }) => `${who} set the scopes of ${caller}.`,
  'client.rights_changed': ({ who, caller }) => `${who} set the rights of ${caller} at the OAuth endpoints.`,
  'client.limits_changed': ({ who, caller }) => `${who} set the limits of ${caller}.`,
  'client.addresses_changed': ({ who, caller }) => `${who} set the addresses that ${caller} may be used from.`,
  'client.granted': ({ who, caller, restaurants }) => `${who} gave ${caller} access to ${restaurants}.`,
  'client.withdrawn': ({ who, caller, restaurants }) => `${who} withdrew the access of ${caller} to ${restaurants}.`,
  'client.tokens_revoked': ({ who, caller }) => `${who} revoked all tokens of ${caller}.`,
  'secret.created': ({ who, caller, detail }) =>
    detail('rotated') === 'true' ? `${who} rotated the secret of ${caller}.` : `${who} created a secret for ${caller}.`,
  'secret.retired': (w) =>
    w.detail('state') === 'expiring'
      ? `${w.who} gave a secret of ${w.caller} an end date.`
      : `${w.who} retired a secret of ${w.caller}${because(w)}.`,
  'secret.state_changed': (w) => `${w.who} ${state(w)} a secret of ${w.caller}${because(w)}.`,
  'client_key.added': ({ who, caller }) => `${who} added a public key of ${caller}.`,
  'client_key.revoked': ({ who, caller }) => `${who} removed a public key of ${caller}.`,
  'client_certificate.added': ({ who, caller }) => `${who} added a certificate of ${caller}.`,
  'client_certificate.removed': ({ who, caller }) => `${who} removed a certificate of ${caller}.`,
  'client_trust.added': ({ who, caller }) => `${who} let ${caller} sign in with identities of another issuer.`,
  'client_trust.removed': ({ who, caller }) => `${who} ended the sign-in of ${caller} with identities of an issuer.`,
  'leak.reported': ({ who, caller, detail }) =>
    detail('ended') === 'true'
      ? `A credential of ${caller} was reported as leaked and ended (${who}).`
      : `A credential of ${caller} was reported as leaked (${who}).`,
  'signing_key.rotated': ({ who }) => `${who} rotated the key that signs access tokens.`,
  'master_key.added': ({ who }) => `${who} added a master key.`,
  'master_key.removed': ({ who }) => `${who} removed a master key.`,
  'signals.changed': ({ who }) => `${who} changed a stream of security events.`,
  'webhook.changed': ({ who }) => `${who} changed webhook endpoints, or had events delivered again.`,
  'user.created': ({ who, user }) => `${who} created the account ${user}.`,
  'user.changed': ({ who, user }) => `${who} changed the account ${user}.`,
  'user.link_made': ({ who, user }) => `${who} made a one-time link for ${user}.`,
  'user.password_set': ({ who }) => `${who} set a new password.`,
  'user.totp_added': ({ who }) => `${who} switched on two-step sign-in.`,
  'user.totp_removed': ({ who, user }) =>
    user === '' ? `${who} switched off two-step sign-in.` : `${who} switched off two-step sign-in for ${user}.`,
  'user.signed_in': ({ who }) => `${who} signed in.`,
  'user.sign_in_failed': (w) => `${w.who} failed to sign in${because(w)}.`,
  'user.check_failed': (w) => `${w.who} did not confirm a change of the account${because(w)}.`,
  'user.signed_out': ({ who }) => `${who} signed out.`,
  'user.session_ended': ({ who, user }) =>
    user === '' || user === who ? `${who} signed out on another browser.` : `${who} signed out ${user}.`,
  'user.passkey_added': ({ who }) => `${who} added a passkey.`,
  'user.passkey_renamed': ({ who, detail }) =>
    `${who} renamed the passkey “${detail('former_name')}” to “${detail('name')}”.`,
  'user.passkey_removed': ({ who, user }) =>
    user === '' ? `${who} removed a passkey.` : `${who} removed the passkeys of ${user}.`,
  'user.factor_policy_changed': ({ who }) => `${who} set the roles that need a second factor.`,
  'user.notices_changed': ({ who }) => `${who} changed the notices to receive.`,
  'user.notice_secret_rotated': ({ who }) => `${who} rotated the secret that signs notices to an address.`,
  'user.search_saved': ({ who, detail }) => `${who} saved the search “${detail('name')}”.`,
  'user.search_removed': ({ who, detail }) => `${who} removed the saved search “${detail('name')}”.`,
  'config.reloaded': (w) =>
    w.failed ? `A new route table was refused${because(w)}.` : `${w.who} loaded a new route table.`,
  'store.backed_up': ({ who }) => `${who} began a backup of the database.`,
  'store.restored': ({ who }) => `${who} restored the database from a backup.`,
  'store.moved': ({ who, detail }) =>
    detail('undone') === ''
      ? `${who} began to copy the database to a server.`
      : `${who} undid the copy of the database to a server.`,
  'audit.key_changed': () => 'The key that signs the checkpoints of the audit was changed.',
  'audit.read': ({ who }) => `${who} read the audit.`,
  'audit.dropped': ({ who }) => `${who} dropped events that were older than the retention.`,
  'audit.broken': () => 'A chain of the audit was found changed, and a new chain was begun.',
  'audit.rolled_back': () => 'The database holds an older state of the audit than was known before.',
  'audit.chain_closed': () => 'The open chain of a process that had ended was verified and closed.',
} satisfies Record<string, Sentence>;

type Sentences = Record<keyof typeof sentences, Sentence>;

export const auditEvents = {
  sentences: sentences as Sentences,
  system: 'The system',
  atCommandLine: (name: string) => `${name} at the command line`,
  unknownWho: 'An unknown user',
  unknownCaller: 'An unknown caller',
  /** Of an event that does not name its restaurant. */
  someRestaurant: 'a restaurant',
  timelineTitle: 'History',
  timelineOf: (name: string) => `What happened to ${name}`,
  activityOf: (name: string) => `Activity of ${name}`,
  timelineIntro: 'All events of one client, restaurant or user, in sentences. Your reading is recorded, too.',
  timelineAsk: 'Enter the name or the id of a client or restaurant, or the email of a user.',
  timelineShow: 'Show the history',
  timelineLink: (name: string) => `History of ${name}`,
  historyLead: 'All events, in sentences',
  asEvents: 'Show as a table',
  nothing: 'The audit has no event about it.',
  details: 'Details',
};
