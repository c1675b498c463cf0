/** Programs around the code of /docs/webhooks for Ruby, Java and C#: they read a delivery as lines and print whether it is valid. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Line = { secret: string; now: number; headers: Record<string, string>; body: string };

/** secret, time, id, timestamp, signature, body in base64: a line each, so that no language needs a JSON parser. */
export const asLines = ({ secret, now, headers, body }: Line): string =>
  [
    secret,
    Math.floor(now),
    ...['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name] ?? ''),
    `${Buffer.from(body).toString('base64')}\n`,
  ].join('\n');

export type Driver = {
  language: string;
  /** A command that fails where the language is not installed. */
  probe: readonly [command: string, ...args: string[]];
  snippet: string;
  file: string;
  source: string;
  /** Compiles in `folder`, if need be, and returns the program to run. */
  build(folder: string): readonly [command: string, ...args: string[]];
};

const ruby: Driver = {
  language: 'Ruby',
  probe: ['ruby', '--version'],
  snippet: 'verify.rb',
  file: 'driver.rb',
  source: `require_relative 'verify'
secret, now, *fields, body = $stdin.read.split("\\n", -1)[0..5]
headers = %w[webhook-id webhook-timestamp webhook-signature].zip(fields).to_h
puts verify(secret, headers, body.unpack1('m'), now.to_f) ? 'valid' : 'refused'
`,
  build: () => ['ruby', 'driver.rb'],
};

const java: Driver = {
  language: 'Java',
  probe: ['javac', '-version'],
  snippet: 'Verify.java',
  file: 'Driver.java',
  source: `import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import java.util.Map;

public class Driver {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String secret = in.readLine();
        long now = Long.parseLong(in.readLine());
        Map<String, String> headers = Map.of("webhook-id", in.readLine(), "webhook-timestamp", in.readLine(), "webhook-signature", in.readLine());
        byte[] body = Base64.getDecoder().decode(in.readLine());
        System.out.println(Verify.verify(secret, headers, body, now) ? "valid" : "refused");
    }
}
`,
  build: (folder) => {
    execFileSync('javac', ['Verify.java', 'Driver.java'], { cwd: folder });
    return ['java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', 'Driver'];
  },
};

const csharp: Driver = {
  language: 'C#',
  probe: ['dotnet', '--list-sdks'],
  snippet: 'Verify.cs',
  file: 'Driver.cs',
  source: `using System;
using System.Collections.Generic;

static class Driver
{
    static void Main()
    {
        var (secret, now) = (Console.ReadLine(), long.Parse(Console.ReadLine()));
        var headers = new Dictionary<string, string>();
        foreach (var name in new[] { "webhook-id", "webhook-timestamp", "webhook-signature" }) headers[name] = Console.ReadLine();
        var body = Convert.FromBase64String(Console.ReadLine());
        Console.WriteLine(Webhooks.Verify(secret, headers, body, now) ? "valid" : "refused");
    }
}
`,
  build: (folder) => {
    const version = /^(\d+)\./m.exec(execFileSync('dotnet', ['--list-sdks'], { encoding: 'utf8' }))?.[1] ?? '8';
    writeFileSync(
      join(folder, 'receiver.csproj'),
      `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net${version}.0</TargetFramework></PropertyGroup></Project>`,
    );
    execFileSync('dotnet', ['build', '-o', 'out', '--nologo', '-v', 'q'], { cwd: folder });
    return ['dotnet', 'out/receiver.dll'];
  },
};

const mono: Driver = {
  ...csharp,
  language: 'C# in Mono',
  probe: ['mcs', '--version'],
  build: (folder) => {
    execFileSync('mcs', ['Verify.cs', 'Driver.cs', '-out:receiver.exe'], { cwd: folder });
    return ['mono', 'receiver.exe'];
  },
};

export const drivers: readonly Driver[] = [ruby, java, csharp, mono];

/** Puts the snippet and its driver into `folder` and returns the program to run there. */
export const buildDriver = (driver: Driver, snippets: string, folder: string): ReturnType<Driver['build']> => {
  copyFileSync(join(snippets, driver.snippet), join(folder, driver.snippet));
  writeFileSync(join(folder, driver.file), driver.source);
  return driver.build(folder);
};
