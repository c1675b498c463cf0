/** Testi delle pagine per gli integratori. */
import type { Texts } from '../en/en.ts';

export const integrator: Texts['integrator'] = {
  title: 'Per gli integratori',
  intro: 'Da inviare a chi sviluppa con le API. Non serve un account.',
  introOfContact: 'Tutto ciò che serve per sviluppare con le API. Per aprirlo non serve un account.',
  reference: 'Documentazione delle API',
  referenceText: 'Ogni operazione; provala con la tua credenziale.',
  webhooks: 'Ricevere i webhook',
  webhooksText: 'Verificare la firma, in sette linguaggi.',
  errors: 'Codici di errore',
  errorsText: 'Che cosa significa ogni codice e che cosa fare.',
  explain: 'Perché una richiesta è stata rifiutata?',
  explainText: 'Incolla l’id di una richiesta e leggi il motivo in parole semplici.',
  explainIntro:
    'Ogni risposta riporta l’id della richiesta, nell’intestazione X-Request-Id e nel corpo delle risposte di errore. Incollalo qui con la credenziale che ha fatto la richiesta, o con un’altra dello stesso client: nessun’altra può leggere il motivo. La credenziale viene inviata solo a queste API e non viene conservata.',
  noScript: 'Questa pagina richiede JavaScript. Senza, interroga direttamente le API:',
  requestId: 'Id della richiesta',
  credential: 'La credenziale che ha fatto la richiesta',
  kinds: { key: 'Chiave API', client: 'Client API', token: 'Token di accesso' },
  key: 'Chiave API',
  clientId: 'Id del client',
  secret: 'Segreto del client',
  token: 'Token di accesso',
  submit: 'Spiega',
  asking: 'Richiesta in corso …',
  missing: 'Inserisci l’id della richiesta e la credenziale.',
  facts: {
    at: 'Quando',
    request: 'Richiesta',
    answer: 'Risposta',
    missingScopes: 'Permessi mancanti',
    details: 'Dettagli',
    errors: 'Che cosa non andava',
  },
  details: {
    expired_iso: 'scaduto',
    expired_seconds_ago: 'secondi di ritardo',
    retry_after: 'secondi di attesa',
  },
  notFound: {
    title: 'Di questa richiesta non si sa nulla',
    text: 'L’id non è giusto, oppure la richiesta non è stata rifiutata con 400, 401, 403 o 429, oppure ha più di 7 giorni, oppure l’ha fatta un’altra credenziale, oppure non si è potuta registrare. Per un token non più valido usa id e segreto del suo client.',
  },
  notAccepted: {
    title: 'Questa credenziale ora non è accettata',
    text: 'Perciò non si può usare per chiedere delle sue richieste. Le API rispondono:',
  },
  tooMany: { title: 'Troppe richieste', text: 'Attendi questi secondi e chiedi di nuovo:' },
  failed: {
    title: 'Le API non hanno dato una spiegazione',
    text: 'Non erano raggiungibili, o non potevano rispondere. Riprova tra poco.',
  },
  reasons: {
    token_expired: {
      title: 'Il token di accesso era scaduto',
      text: 'Richiedine uno nuovo prima che passi expires_in; fino ad allora riutilizza lo stesso, invece di chiederne uno per ogni chiamata.',
    },
    token_revoked: {
      title: 'Il token di accesso era revocato',
      text: 'È stato revocato prima della scadenza, da solo o insieme alla credenziale per cui era stato emesso. Richiedine uno nuovo.',
    },
    token_not_yet_valid: {
      title: 'Il token di accesso non era ancora valido',
      text: 'Diventa valido in futuro: controlla l’orologio della macchina che lo ha creato.',
    },
    token_audience: {
      title: 'Il token di accesso era per un altro server',
      text: 'Chiedi un token per questo server, oppure ometti il parametro resource.',
    },
    token_limited: {
      title: 'Il token di accesso è limitato',
      text: 'È stato emesso solo per alcune operazioni o alcuni ristoranti. Il messaggio di errore li indica; per questa richiesta usa un altro token.',
    },
    client_disabled: {
      title: 'Il client è disabilitato',
      text: 'È stato disabilitato definitivamente. Chiedine uno nuovo all’assistenza.',
    },
    secret_wrong: {
      title: 'Il segreto del client era sbagliato',
      text: 'Il client esiste, ma questo non è uno dei suoi segreti attivi. Controlla quale segreto usa davvero il tuo programma.',
    },
    secret_ended: {
      title: 'Il segreto del client non è più valido',
      text: 'È stato sostituito, ritirato o revocato. Installa un segreto attivo del client, o chiedine uno all’assistenza.',
    },
    key_revoked: {
      title: 'La chiave API era revocata',
      text: 'Chiedi al titolare di crearne un’altra nel pannello, sotto Chiavi API.',
    },
    key_expired: {
      title: 'La chiave API era scaduta',
      text: 'Chiedi al titolare di crearne un’altra nel pannello, sotto Chiavi API.',
    },
    leak_reported: {
      title: 'La credenziale è stata segnalata come trapelata',
      text: 'Il suo valore è stato trovato dove altri possono leggerlo, perciò non vale più. Usane un’altra, e scopri come ci è finito.',
    },
    credentials_ambiguous: {
      title: 'C’erano più credenziali',
      text: 'Inviane di un solo tipo, e ogni intestazione una volta sola. Un proxy o una libreria può aggiungerne una.',
    },
    quarantined: {
      title: 'La credenziale è in quarantena',
      text: 'Per ora è bloccata. Il messaggio di errore dice perché e che cosa fare.',
    },
    restaurant_gone: {
      title: 'Il ristorante non esiste più',
      text: 'La credenziale non dà più accesso a questo ristorante.',
    },
    restaurant_not_granted: {
      title: 'La credenziale non può raggiungere questo ristorante',
      text: 'GET /api/whoami elenca quelli che può raggiungere. Chiedi all’assistenza di aggiungerlo, o indicane un altro.',
    },
    api_disabled: {
      title: 'L’accesso API del ristorante è disattivato',
      text: 'Il titolare può attivarlo nel pannello sotto Accesso API.',
    },
    address_not_allowed: {
      title: 'La credenziale non si può usare da questo indirizzo',
      text: 'GET /api/whoami elenca le reti da cui si può usare. Se l’indirizzo è tuo, fallo aggiungere; altrimenti sostituisci la credenziale.',
    },
    scope_missing: {
      title: 'Mancava un permesso',
      text: 'Richiedi un token con i permessi qui sotto, o chiedi all’assistenza di concederli al client.',
    },
    rate_limited: {
      title: 'C’erano troppe richieste',
      text: 'Attendi i secondi indicati da Retry-After e regola il ritmo delle richieste con le intestazioni RateLimit.',
    },
    parameters: {
      title: 'Qualcosa nella richiesta non era valido',
      text: 'Il corpo della risposta dice che cosa. Se qui sotto è elencato qualcosa, correggilo; i problemi elencati sono al massimo 20.',
    },
    upstream: {
      title: 'L’ha rifiutata il servizio a valle',
      text: 'Il gateway ha accettato la credenziale. Il corpo della risposta riporta il motivo del servizio.',
    },
    simulated: {
      title: 'La richiesta ha chiesto questo errore',
      text: 'Una credenziale di sandbox ha inviato X-Orderpass-Simulate. La richiesta non aveva nulla di sbagliato.',
    },
  },
};
