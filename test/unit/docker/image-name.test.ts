import { expect, it } from 'vitest'
import { isRegistryOf, parseImage } from '../../../src/providers/docker/making/image-name.ts'

const digest = `sha256:${'a'.repeat(64)}`

it.each([
  ['ubuntu', 'ubuntu', 'latest'],
  ['ubuntu:24.04', 'ubuntu', '24.04'],
  ['localhost:5000/x', 'localhost:5000/x', 'latest'],
  ['localhost:5000/x:1', 'localhost:5000/x', '1'],
  [`r.test/a/b@${digest}`, 'r.test/a/b', digest],
  [`r.test/a/b:1@${digest}`, 'r.test/a/b', digest],
])('divides %s', (image, name, tag) => {
  expect(parseImage(image)).toEqual({ name, tag })
})

it.each([
  ['docker.io', 'ubuntu', true],
  ['https://index.docker.io/v1/', 'team/app:1', true],
  ['r.test', 'r.test/app', true],
  ['https://R.test', 'r.test/app', true],
  ['r.test', 'ubuntu', false],
  ['r.test', 'r.test:5000/app', false],
  ['docker.io', 'localhost/app', false],
])('knows whether a login for %s is for %s', (host, image, expected) => {
  expect(isRegistryOf(host, image)).toBe(expected)
})
