import { expect, it } from 'vitest'
import { EngineError } from '../../../src/providers/docker/engine/error.ts'
import { kindOf, pullFailure, startFailure } from '../../../src/providers/docker/failures.ts'

it.each([
  ['noSpace', 500, 'write /var/lib/docker/tmp/x: no space left on device'],
  ['noSpace', 500, 'Disk quota exceeded'],
  ['tooManyPulls', 429, 'toomanyrequests: You have reached your pull rate limit.'],
  ['loginRefused', 500, 'Get "https://r.test/v2/x/manifests/1": no basic auth credentials'],
  ['loginRefused', 200, 'unauthorized: authentication required'],
  ['noSuchImage', 404, 'manifest for r.test/x:2 not found: manifest unknown: manifest unknown'],
  ['noSuchImage', 404, "pull access denied for x, repository does not exist or may require 'docker login'"],
  ['noSuchImage', 404, 'No such image: x:1'],
  ['badImageName', 400, 'invalid reference format: repository name must be lowercase'],
  ['registryUnreachable', 500, 'Get "https://r.test/v2/": dial tcp: lookup r.test: no such host'],
  ['registryUnreachable', 500, 'Get "https://r.test/v2/": dial tcp 10.0.0.1:443: connect: connection refused'],
  ['registryUnreachable', 500, 'net/http: TLS handshake timeout'],
  ['portTaken', 500, 'Bind for 0.0.0.0:80 failed: port is already allocated'],
  ['portTaken', 500, 'listen tcp4 0.0.0.0:80: bind: address already in use'],
  ['noGpus', 500, 'could not select device driver "nvidia" with capabilities: [[gpu compute utility]]'],
  ['noGpus', 500, 'CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=GPU-1'],
  ['noNetwork', 404, 'network berth-a-account-1 not found'],
  ['noNetwork', 400, 'network berth-a-account-1 is ambiguous (2 matches found based on name)'],
  ['badCommand', 400, 'OCI runtime create failed: exec: "/none": stat /none: no such file or directory: unknown'],
  ['badCommand', 400, 'exec: "none": executable file not found in $PATH: unknown'],
  ['noDiskLimit', 500, "--storage-opt is supported only for overlay over xfs with 'pquota' mount option"],
  ['nameTaken', 409, 'Conflict. The container name "/x" is already in use by container "1".'],
  ['noCapacity', 400, 'Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available'],
  // Docker 25 to 29, with the store of containerd for images in part.
  ['tooManyPulls', 429, 'error from registry: slow down'],
  ['tooManyPulls', 200, 'error from registry: You have reached your unauthenticated pull rate limit.'],
  ['loginRefused', 401, 'error from registry: go away'],
  ['loginRefused', 403, 'error from registry: requested access to the resource is denied'],
  [
    'loginRefused',
    500,
    'failed to authorize: failed to fetch oauth token: unexpected status from POST request to https://r.test/token: 403 Forbidden',
  ],
  ['noSuchImage', 404, 'failed to resolve reference "docker.io/library/x:none": docker.io/library/x:none: not found'],
  [
    'noSuchImage',
    404,
    'no matching manifest for linux/amd64 in the manifest list entries: no match for platform in manifest: not found',
  ],
  [
    'registryUnreachable',
    500,
    'failed to do request: Head "https://r.test/v2/x/manifests/1": context deadline exceeded',
  ],
  [
    'registryUnreachable',
    500,
    'unexpected status from HEAD request to https://r.test/v2/x/manifests/1: 503 Service Unavailable',
  ],
  ['registryUnreachable', 500, 'received unexpected HTTP status: 502 Bad Gateway'],
  ['portTaken', 500, 'failed to bind host port 0.0.0.0:80/tcp: address already in use'],
  ['noGpus', 400, 'Unknown runtime specified nvidia'],
  ['noGpus', 400, 'unknown or invalid runtime name: nvidia'],
  [
    'noAddresses',
    404,
    'could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network',
  ],
  ['noAddresses', 400, 'all predefined address pools have been fully subnetted'],
  ['badCommand', 400, 'runc create failed: unable to start container process: exec: "/etc/passwd": permission denied'],
  [
    'badCommand',
    400,
    'runc create failed: unable to start container process: exec: "/tmp": is a directory: permission denied',
  ],
  ['noDiskLimit', 500, 'Storage option overlay2.size not supported. Filesystem does not support Project Quota: none'],
  ['noCapacity', 400, 'range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available'],
  ['noCapacity', 400, 'Minimum memory limit allowed is 6MB'],
  ['unknown', 403, 'authorization denied by plugin x'],
  ['unknown', 500, 'something else'],
])('takes an error for %s: %i %s', (kind, status, message) => {
  expect(kindOf(new EngineError(status, message))).toBe(kind)
})

it('tells renters nothing of what the engine said', () => {
  const error = new EngineError(500, 'unauthorized: user alice at /var/lib/docker with s3cret')
  expect(pullFailure(error).failure).toEqual({
    code: 'IMAGE_PULL_FAILED',
    message: 'The registry refused to give the image. Check the name of the image, and the registry login.',
  })
  expect(startFailure(new EngineError(500, '/host/path')).failure).toEqual({
    code: 'START_FAILED',
    message: 'The machine could not start the container.',
    fault: 'unclear',
  })
})

it.each([
  ['unauthorized: authentication required', undefined],
  ['manifest unknown', undefined],
  // A registry of the renter may have written these.
  ['no space left on device', 'unclear'],
  ['toomanyrequests', 'unclear'],
  ['dial tcp: no such host', 'unclear'],
])('blames for a pull that ended with "%s": %s', (message, fault) => {
  expect(pullFailure(new EngineError(500, message)).failure.fault).toBe(fault)
})

it.each([
  ['exec: "none": executable file not found in $PATH: unknown', undefined],
  ['could not select device driver "nvidia" with capabilities: [[gpu]]', 'machine'],
  ['no space left on device', 'machine'],
  ['something else', 'unclear'],
])('blames for a start that ended with "%s": %s', (message, fault) => {
  expect(startFailure(new EngineError(500, message)).failure.fault).toBe(fault)
})
