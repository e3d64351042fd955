# All variants, for both architectures:  docker buildx bake
# One of them, for this machine:         docker buildx bake agentserver-java --set '*.platform=' --load

variable "IMAGE" {
  default = "agentserver"
}

variable "VERSION" {
  default = "dev"
}

group "default" {
  targets = ["agentserver"]
}

target "agentserver" {
  name = "agentserver-${variant.name}"
  matrix = {
    variant = [
      { name = "python", base = "python:3.13-slim-bookworm" },
      { name = "java", base = "eclipse-temurin:21-jdk-noble" },
      { name = "golang", base = "golang:1.26-bookworm" },
    ]
  }
  context    = "."
  dockerfile = "Dockerfile"
  args       = { BASE_IMAGE = variant.base }
  platforms  = ["linux/amd64", "linux/arm64"]
  tags       = ["${IMAGE}:${VERSION}-${variant.name}"]
}
