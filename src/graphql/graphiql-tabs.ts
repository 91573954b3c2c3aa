/** Ready operations for GraphiQL, a tab each: a story from left to right. */
export const tabs: { query: string; variables?: string }[] = [
  {
    query: `# 1. Find: offers of the GPUs that will do, the cheapest first, priced with the disk that you will ask for.
query Find {
  offers(
    first: 10
    filter: {
      verified: true
      reliability: { gte: 0.98 }
      or: [{ gpuName: { in: ["RTX 4090", "RTX 5090"] } }, { gpuRamMb: { gte: 80000 }, numGpus: { lte: 2 } }]
    }
    pricing: { diskGb: 16 }
    orderBy: [{ field: PRICE_PER_HOUR }]
  ) {
    totalCount
    nodes {
      id
      gpuName
      numGpus
      pricePerHour
      priceBreakdown { compute disk }
      minimumBidPerHour # what it takes at a bid, which others can outbid
      machine { country reliability downloadMbps }
    }
    pageInfo { hasNextPage endCursor }
  }
}
`,
  },
  {
    query: `# 2. Quote: what renting would come to, and all that stands against it. It takes what Rent does.
query Quote($offer: ID!) {
  rentQuote(
    input: {
      offerId: $offer
      spec: { source: { image: "pytorch/pytorch:latest" }, mode: { ssh: { direct: true } }, diskGb: 16 }
    }
  ) {
    rentable
    waits # whether it would have to wait for its GPUs
    pricePerHour
    diskPricePerHour # what is paid while it is stopped
    blockers { code message }
    warnings
  }
}
`,
    variables: '{ "offer": "off_1" }',
  },
  {
    query: `# 3. Keys: an SSH key logs in to what you rent from now on. This one is nobody's: put in your own .pub file.
# An API key is for programs. This one may search and read, and its secret is shown this once.
mutation Keys {
  registerSshKey(
    input: { publicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBBUWF1703UR1DpH9pUme2Q91SNk1xb+s3veIuWbfnCe me@laptop" }
  ) {
    ... on RegisterSshKeySuccess { sshKey { id name fingerprint } }
    ... on Error { code message }
  }
  createApiKey(input: { name: "watcher", permissions: [{ category: MISC }, { category: INSTANCE_READ }] }) {
    ... on CreateApiKeySuccess { secret apiKey { id prefix } }
    ... on Error { code message }
  }
}
`,
  },
  {
    query: `# 4. Rent: the id of an offer is in the variables below. Should another be quicker, alternatives are named.
mutation Rent($offer: ID!) {
  rentInstance(
    input: {
      offerId: $offer
      idempotencyKey: "rental-1" # sent again, it rents nothing more; another rental takes another key
      spec: {
        source: { image: "pytorch/pytorch:latest" }
        mode: { ssh: { direct: true } }
        diskGb: 16
        label: "my first"
        env: [{ name: "GREETING", value: "hello" }]
        ports: [{ containerPort: 8000 }]
        onStart: "python -m http.server 8000"
      }
    }
  ) {
    ... on RentInstanceSuccess { replayed instance { id status pricePerHour machine { country } } }
    ... on Error { code message }
    ... on InvalidInputError { issues { path message } }
    ... on OfferUnavailableError { alternatives { id pricePerHour } yourInstance { id } }
  }
}
`,
    variables: '{ "offer": "off_1" }',
  },
  {
    query: `# 5. Watch: run it again until the status is RUNNING. Then it says how to log in.
query Watch {
  viewer { credit }
  instances(first: 10) {
    totalCount
    nodes {
      id
      label
      status
      statusReason { code message }
      gpuName
      numGpus
      pricePerHour
      connection { sshCommand ports { containerPort hostPort protocol } }
      actions { action available reason }
    }
  }
}
`,
  },
  {
    query: `# 6. Stop: a stopped instance costs its disk only. With RUNNING it starts again.
mutation Stop($instances: [ID!]!) {
  updateInstances(input: { ids: $instances, targetState: STOPPED }) {
    ... on BulkInstancesPayload {
      items { id outcome instance { targetState status } error { code message } }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "instances": ["ins_1"] }',
  },
  {
    query: `# 7. Template: settings to rent with more than once. With the id of one it would be changed instead.
mutation Template {
  saveTemplate(
    input: {
      name: "trainer"
      image: "pytorch/pytorch:latest"
      mode: { jupyter: { lab: true } }
      diskGb: 20
      env: [{ name: "EPOCHS", value: "3" }, { name: "TOKEN", value: "hush", secret: true }]
    }
  ) {
    ... on SaveTemplateSuccess { template { id hashId env { name value secret } } }
    ... on ConflictError { id } # you have these settings already
    ... on Error { code message }
  }
}
`,
  },
  {
    query: `# 8. Best: searches and rents in one, here at a bid, with the hash of the template. What is said beside it counts more.
mutation Best($template: String!) {
  rentBestOffer(
    input: {
      filter: { gpuName: { eq: "RTX 4090" } }
      orderBy: [{ field: DLPERF_PER_DOLLAR, direction: DESC }]
      terms: { interruptible: { bidPerHour: "0.4" } } # or onDemand: { maxPricePerHour: "0.8" }
      spec: { source: { template: { hashId: $template } }, env: [{ name: "EPOCHS", value: "5" }] }
    }
  ) {
    ... on RentBestOfferSuccess {
      instance {
        id
        bidPerHour
        launch {
          mode
          sources { image mode diskGb } # TEMPLATE, REQUEST or DEFAULT
          env { name value source }
        }
      }
    }
    ... on NoOfferRentedError { attempts { offerId failure } }
    ... on Error { code message }
  }
}
`,
    variables: '{ "template": "fd4a4c258d62396bac970d18d3f31e04" }',
  },
  {
    query: `# 9. Bid: who bids most has the GPUs. Whoever is outbid waits, and goes on when they are free again.
mutation Bid($instance: ID!) {
  changeBid(input: { instanceId: $instance, bidPerHour: "0.45" }) {
    ... on InstanceSuccess { instance { bidPerHour minimumBidPerHour status } }
    ... on BidTooLowError { minimumBidPerHour }
    ... on Error { code message }
  }
}
`,
    variables: '{ "instance": "ins_2" }',
  },
  {
    query: `# 10. Volume: a disk that outlives instances. The query volumeOffers finds storage. An instance on its machine gets it by
# spec: { volumes: [{ source: { volumeId: "vol_1" }, mountPath: "/data" }] }
mutation Volume($storage: ID!) {
  createVolume(input: { offerId: $storage, sizeGb: 50, name: "data" }) {
    ... on CreateVolumeSuccess { volume { id sizeGb pricePerHour machine { id country } } }
    ... on Error { code message }
  }
}
`,
    variables: '{ "storage": "vof_1" }',
  },
  {
    query: `# 11. Destroy: it ends rentals, and their disks with all that is on them. Volumes stay.
mutation Destroy($instances: [ID!]!) {
  destroyInstances(input: { ids: $instances }) {
    ... on BulkInstancesPayload {
      succeededCount
      items { id outcome error { code message } }
    }
    ... on Error { code message }
  }
}
`,
    variables: '{ "instances": ["ins_1", "ins_2"] }',
  },
]
