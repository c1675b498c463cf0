/** User, environment, ports, health check and command of the image, as the last stage of the Dockerfile states them. */

export type ImageConfig = {
  User: string;
  WorkingDir: string;
  Env: string[];
  ExposedPorts: Record<string, object>;
  Labels: Record<string, string>;
  Entrypoint: string[];
  Cmd: string[];
  StopSignal: string;
  /** Not part of OCI; Docker reads it in the configuration of an image, and others ignore it. Times are nanoseconds. */
  Healthcheck: { Test: string[]; Interval: number; Timeout: number; StartPeriod: number; Retries: number };
};

/** `PATH` as in every image; the kernel starts the command, so there is no shell that would set it. */
const path = 'PATH=/usr/local/bin';

/** Takes the instructions that the Dockerfile uses, and throws at any other, so that none is left out silently. */
export const readImageConfig = (dockerfile: string): ImageConfig => {
  const config: ImageConfig = {
    User: '',
    WorkingDir: '/',
    Env: [path],
    ExposedPorts: {},
    Labels: {},
    Entrypoint: [],
    Cmd: [],
    StopSignal: 'SIGTERM',
    Healthcheck: { Test: [], Interval: 0, Timeout: 0, StartPeriod: 0, Retries: 0 },
  };
  const readers: Record<string, (text: string) => void> = {
    FROM: () => undefined,
    COPY: () => undefined,
    USER: (text) => {
      config.User = text;
    },
    WORKDIR: (text) => {
      config.WorkingDir = text;
    },
    STOPSIGNAL: (text) => {
      config.StopSignal = text;
    },
    ENV: (text) => void config.Env.push(...pairsOf(text).map(([name, value]) => `${name}=${value}`)),
    LABEL: (text) => void Object.assign(config.Labels, Object.fromEntries(pairsOf(text))),
    EXPOSE: (text) => {
      for (const port of text.split(' ')) config.ExposedPorts[`${port}/tcp`] = {};
    },
    ENTRYPOINT: (text) => {
      config.Entrypoint = wordsOf(text);
    },
    CMD: (text) => {
      config.Cmd = wordsOf(text);
    },
    HEALTHCHECK: (text) => {
      config.Healthcheck = healthCheckOf(text);
    },
  };
  for (const [name, text] of lastStageOf(dockerfile)) {
    const read = readers[name];
    if (read === undefined)
      throw new Error(`the last stage of the Dockerfile has ${name}, which this build cannot read`);
    read(text);
  }
  return config;
};

const lastStageOf = (dockerfile: string): [string, string][] => {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  return stage.map((line) => {
    const end = line.indexOf(' ');
    return [line.slice(0, end), line.slice(end + 1).trim()];
  });
};

/** `NAME=value NAME="two words"` */
const pairsOf = (text: string): [string, string][] =>
  [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, name = '', quoted, plain]) => [
    name,
    quoted ?? plain ?? '',
  ]);

const wordsOf = (text: string): string[] => JSON.parse(text) as string[];

const healthCheckOf = (text: string): ImageConfig['Healthcheck'] => {
  const [options = '', command = ''] = text.split('CMD ');
  const option = (name: string): number => Number(new RegExp(`--${name}=(\\d+)s?`).exec(options)?.[1] ?? 0);
  const seconds = (name: string): number => option(name) * 1e9;
  return {
    Test: ['CMD', ...wordsOf(command)],
    Interval: seconds('interval'),
    Timeout: seconds('timeout'),
    StartPeriod: seconds('start-period'),
    Retries: option('retries'),
  };
};
