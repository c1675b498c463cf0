/** Texts of the pages for integrators, also for those who have no account. */
export const integrator = {
  title: 'For integrators',
  intro: 'Send these links to the developers who use the API. They need no account here.',
  introOfContact: 'Everything that a developer needs to use the API. No account is needed to open it.',
  reference: 'API reference',
  referenceText: 'Every operation; try it with your own credential.',
  webhooks: 'Receiving webhooks',
  webhooksText: 'Check the signature, in seven languages.',
  errors: 'Error codes',
  errorsText: 'What each code means and what to do.',
  explain: 'Why was a request refused?',
  explainText: 'Paste a request id and get the reason in plain words.',
  explainIntro:
    'Every response has a request id, in the header X-Request-Id and in the body of a refusal. Paste it here with the credential that made the request, or with another credential of the same client: no other credential may read the reason. The credential is sent to this API only and is not stored.',
  noScript: 'This page needs JavaScript. Without it, ask the API yourself:',
  requestId: 'Request id',
  credential: 'The credential that made the request',
  kinds: { key: 'API key', client: 'API client', token: 'Access token' },
  key: 'API key',
  clientId: 'Client id',
  secret: 'Client secret',
  token: 'Access token',
  submit: 'Explain',
  asking: 'Asking …',
  missing: 'Fill in the request id and the credential.',
  facts: {
    at: 'When',
    request: 'Request',
    answer: 'Answer',
    missingScopes: 'Missing scopes',
    details: 'Details',
    errors: 'What was wrong',
  },
  details: {
    expired_iso: 'ended',
    expired_seconds_ago: 'seconds too late',
    retry_after: 'seconds to wait',
  },
  notFound: {
    title: 'Nothing is known about this request',
    text: 'The id may be wrong, the request may not have been refused with 400, 401, 403 or 429, it may be older than 7 days, another credential may have made it, or it could not be recorded. For a token that is no longer valid use the id and secret of its client.',
  },
  notAccepted: {
    title: 'This credential is not accepted now',
    text: 'It cannot be used to ask about its requests. The API says:',
  },
  tooMany: { title: 'Too many requests', text: 'Wait this many seconds and ask again:' },
  failed: {
    title: 'The API did not explain it',
    text: 'It could not be reached, or could not answer. Try again in a moment.',
  },
  reasons: {
    token_expired: {
      title: 'The access token had expired',
      text: 'Request a new token before expires_in has passed, and use each token until then instead of requesting one for every call.',
    },
    token_revoked: {
      title: 'The access token was revoked',
      text: 'The token was revoked before it expired, alone or together with the credential that it was issued for. Request a new one.',
    },
    token_not_yet_valid: {
      title: 'The access token was not valid yet',
      text: 'It becomes valid in the future. Check the clock of the machine that made it.',
    },
    token_audience: {
      title: 'The access token was for another server',
      text: 'Ask for a token for this server, or leave the parameter resource out.',
    },
    token_limited: {
      title: 'The access token is limited to less',
      text: 'It was issued for some operations or restaurants only. The message of the refusal names them; use another token for this request.',
    },
    client_disabled: {
      title: 'The client is disabled',
      text: 'The client was disabled for good. Ask support for a new one.',
    },
    secret_wrong: {
      title: 'The client secret was wrong',
      text: 'The client exists, but this is not one of its live secrets. Check which secret your program really uses.',
    },
    secret_ended: {
      title: 'The client secret has ended',
      text: 'It was replaced, retired or revoked. Deploy a live secret of the client, or ask support for one.',
    },
    key_revoked: {
      title: 'The API key was revoked',
      text: 'Ask the owner to create a new one in the panel under API keys.',
    },
    key_expired: {
      title: 'The API key has expired',
      text: 'Ask the owner to create a new one in the panel under API keys.',
    },
    leak_reported: {
      title: 'The credential was reported as leaked',
      text: 'Its value was found where others can read it, so it has ended. Use another one, and find out how it got there.',
    },
    credentials_ambiguous: {
      title: 'There were several credentials',
      text: 'Send only one kind of credential, and each header only once. A proxy or a library may add one of its own.',
    },
    quarantined: {
      title: 'The credential is quarantined',
      text: 'It is stopped for now. The message of the refusal says why and what to do.',
    },
    restaurant_gone: {
      title: 'The restaurant no longer exists',
      text: 'The credential no longer gives access to this restaurant.',
    },
    restaurant_not_granted: {
      title: 'The credential may not reach this restaurant',
      text: 'GET /api/whoami lists the restaurants that it may reach. Ask support to add this one, or name another.',
    },
    api_disabled: {
      title: 'API access of the restaurant is off',
      text: 'The owner can switch it on in the panel under API access.',
    },
    address_not_allowed: {
      title: 'The credential may not be used from this address',
      text: 'GET /api/whoami lists the networks that it may be used from. If the address is yours, have it added; if not, replace the credential.',
    },
    scope_missing: {
      title: 'A scope was missing',
      text: 'Request a token with the scopes below, or ask support to grant them to the client.',
    },
    rate_limited: {
      title: 'There were too many requests',
      text: 'Wait as many seconds as Retry-After says, and pace requests by the RateLimit headers.',
    },
    parameters: {
      title: 'Something in the request was not valid',
      text: 'The body of the refusal says what. If anything is listed below, correct that; at most 20 problems are listed.',
    },
    upstream: {
      title: 'The service behind refused it',
      text: 'The gateway accepted the credential. The body of the refusal gives the reason of the service.',
    },
    simulated: {
      title: 'The request asked for this fault',
      text: 'A sandbox credential sent X-Orderpass-Simulate. Nothing was wrong with the request.',
    },
  },
};
